// What goes with optimisers: resuming, clipping, schedules.
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Doubles = std::vector<double>;

Doubles values(const Tensor& x) { return x.detach().to_vector<double>(); }

const Tensor goal = tensor({{3, -1}, {0.5, 2}}, float64);

struct Run {
    Tensor p = tensor({{1, 2}, {3, 4}}, float64).requires_grad_();
    Tensor late = tensor({1, 1}, float64).requires_grad_();  // has its first gradient at step 2

    template <class Optimizer>
    void step(Optimizer& optimizer) {
        optimizer.zero_grad();
        Tensor loss = sum(pow(p - goal, 2));
        if (optimizer.steps() >= 2) loss = loss + sum(late * p);
        loss.backward();
        optimizer.step();
    }
};

std::vector<std::pair<std::string, std::vector<double>>> names_and_values(const nn::NamedTensors& state) {
    std::vector<std::pair<std::string, std::vector<double>>> all;
    for (const auto& [name, tensor] : state) all.emplace_back(name, tensor.to(float64).to_vector<double>());
    return all;
}

// Three steps, a checkpoint, one more step that is lost; the checkpoint then goes on for three steps.
template <class Optimizer, class Options>
void check_resume(const Options& options) {
    Run whole;
    Optimizer without_pause({whole.p, whole.late}, options);
    for (int i = 0; i < 6; ++i) whole.step(without_pause);

    Run stopped;
    Optimizer before({stopped.p, stopped.late}, options);
    for (int i = 0; i < 3; ++i) stopped.step(before);
    const nn::NamedTensors state = before.state_dict();
    Run resumed{.p = stopped.p.detach().clone().requires_grad_(),
                .late = stopped.late.detach().clone().requires_grad_()};
    stopped.step(before);

    Optimizer after({resumed.p, resumed.late}, options);
    {  // what it did before is forgotten
        Run other;
        Optimizer used({other.p, other.late}, options);
        for (int i = 0; i < 5; ++i) other.step(used);
        used.load_state_dict(state);
        CHECK(names_and_values(used.state_dict()) == names_and_values(state));
    }
    after.load_state_dict(state);
    CHECK(after.steps() == 3);
    for (int i = 0; i < 3; ++i) resumed.step(after);
    CHECK(values(resumed.p) == values(whole.p));
    CHECK(values(resumed.late) == values(whole.late));
}

}  // namespace

TEST_CASE("an optimiser that takes up a state goes on as if nothing had happened, bit for bit", "[optim]") {
    check_resume<optim::SGD>(optim::SGDOptions{.lr = 0.05, .momentum = 0.9});
    check_resume<optim::SGD>(optim::SGDOptions{.lr = 0.05});
    check_resume<optim::Adam>(optim::AdamOptions{.lr = 0.05});
    check_resume<optim::AdamW>(optim::AdamWOptions{.lr = 0.05});
}

TEST_CASE("a state names what it holds", "[optim]") {
    Run run;
    optim::AdamW optimizer(nn::NamedTensors{{"p", run.p}, {"late", run.late}});
    run.step(optimizer);
    const auto state = optimizer.state_dict();
    std::vector<std::string> names;
    for (const auto& [name, value] : state) names.push_back(name);
    CHECK(names == std::vector<std::string>{"step", "p.step", "p.exp_avg", "p.exp_avg_sq"});
    CHECK(state[0].second.item() == 1);
    CHECK(state[2].second.at({0, 0}) == Approx(0.1 * 2 * (1 - 3)));
    CHECK(state[3].second.at({0, 0}) == Approx(0.001 * 16));
}

TEST_CASE("clipping scales all gradients to the norm asked for, and returns the norm they had", "[optim]") {
    Tensor a = zeros({2}, float64).requires_grad_(), b = zeros({1}).requires_grad_(),
           none = zeros({5}).requires_grad_();
    a.set_grad(tensor({2, 3}, float64));
    b.set_grad(tensor({6.0}));
    CHECK(optim::clip_grad_norm({a, b, none, a}, 3.5) == Approx(7));  // √(4 + 9 + 36); a counts once
    CHECK(a.grad().at({0}) == Approx(1).epsilon(1e-6));
    CHECK(a.grad().at({1}) == Approx(1.5).epsilon(1e-6));
    CHECK(b.grad().item() == Approx(3).epsilon(1e-6));
    CHECK_FALSE(none.grad().defined());
    CHECK(a.grad().at({0}) == 2 * (3.5 / (7 + 1e-6)));  // PyTorch's 1e-6
}

TEST_CASE("gradients within the norm are left as they are, bit for bit", "[optim]") {
    Tensor a = zeros({2}, float64).requires_grad_();
    a.set_grad(tensor({0.3, 0.4}, float64));
    CHECK(optim::clip_grad_norm({a}, 1) == Approx(0.5));
    CHECK(values(a.grad()) == Doubles{0.3, 0.4});
}

TEST_CASE("clipping a zero norm divides by nothing", "[fault][optim]") {
    Tensor a = zeros({2}).requires_grad_();
    CHECK(optim::clip_grad_norm({a}, 1) == 0);  // no gradient at all
    a.set_grad(zeros({2}));
    CHECK(optim::clip_grad_norm({a}, 1) == 0);
    CHECK(optim::clip_grad_norm({a}, 0) == 0);
    CHECK(a.grad().to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE("the norm of many elements is that of a plain sum", "[optim]") {
    Rng rng(1);
    for (const std::int64_t n : {1, 7, 8, 9, 1003}) {
        Tensor a = zeros({n}, float64).requires_grad_();
        a.set_grad(randn({n}, rng, float64));
        double squares = 0;
        for (const double g : values(a.grad())) squares += g * g;
        CHECK(optim::clip_grad_norm({a}, 1e9) == Approx(std::sqrt(squares)).epsilon(1e-14));
    }
}

TEST_CASE("a norm that is not finite is returned and leaves the gradients for step to refuse", "[optim]") {
    Tensor a = zeros({2}).requires_grad_();
    a.set_grad(tensor({1, std::nan("")}));
    CHECK(std::isnan(optim::clip_grad_norm({a}, 1)));
    CHECK(a.grad().at({0}) == 1);
    a.set_grad(tensor({1, std::numeric_limits<double>::infinity()}));
    CHECK(std::isinf(optim::clip_grad_norm({a}, 1)));
    CHECK(a.grad().at({0}) == 1);
}

TEST_CASE("the cosine schedule warms up in a line and comes down in half a cosine", "[optim]") {
    const optim::CosineOptions options{.lr = 1, .min_lr = 0.2, .warmup_steps = 4, .steps = 14};
    const auto at = [&](std::int64_t step) { return optim::cosine_lr(step, options); };
    CHECK(at(0) == Approx(0.2));
    CHECK(at(3) == Approx(0.8));
    CHECK(at(4) == Approx(1));
    CHECK(at(9) == Approx(0.6));  // half way
    CHECK(at(14) == Approx(0.2));
    CHECK(at(1000) == Approx(0.2));
    CHECK(at(6) == Approx(0.2 + 0.4 * (1 + std::cos(3.14159265358979323846 / 5))));
    CHECK(optim::cosine_lr(0, {.lr = 3, .warmup_steps = 0, .steps = 10}) == 3);
    CHECK(optim::cosine_lr(5, {.lr = 1, .warmup_steps = 9, .steps = 5}) == Approx(0.6));  // still warming up
    for (const std::int64_t warmup_steps : {0, 1, 7}) {  // no step between the two parts
        const optim::CosineOptions none{
            .lr = 1, .min_lr = 0.2, .warmup_steps = warmup_steps, .steps = warmup_steps};
        CHECK(optim::cosine_lr(warmup_steps, none) == 0.2);
        CHECK(optim::cosine_lr(warmup_steps + 1, none) == 0.2);
        if (warmup_steps > 0)
            CHECK(optim::cosine_lr(warmup_steps - 1, none) ==
                  Approx(double(warmup_steps) / double(warmup_steps + 1)));
    }
}

TEST_CASE("the cosine schedule refuses what makes no rate", "[optim]") {
    refuses<ValueError>("lr must be finite", [] { optim::cosine_lr(0, {.lr = -1}); });
    refuses<ValueError>("nan", [] { optim::cosine_lr(0, {.lr = std::nan("")}); });
    refuses<ValueError>("is above lr", [] { optim::cosine_lr(0, {.lr = 1, .min_lr = 2}); });
    refuses<ValueError>("step -1", [] { optim::cosine_lr(-1, {}); });
    refuses<ValueError>("warmup_steps -2", [] { optim::cosine_lr(0, {.warmup_steps = -2}); });
}

TEST_CASE("step, linear and one-cycle schedules give PyTorch's rates", "[golden][optim]") {
    const Golden golden("schedules.safetensors");
    const std::map<std::string, std::function<double(std::int64_t)>> schedules{
        {"step", [](auto t) { return optim::step_lr(t, {.lr = 0.1, .step_size = 4, .gamma = 0.5}); }},
        {"step.default", [](auto t) { return optim::step_lr(t, {}); }},
        {"linear",
         [](auto t) {
             return optim::linear_lr(t, {.lr = 0.1, .start_factor = 0.2, .end_factor = 0.9, .total_iters = 10});
         }},
        {"linear.default", [](auto t) { return optim::linear_lr(t, {}); }},
        {"one_cycle", [](auto t) { return optim::one_cycle_lr(t, {.max_lr = 0.1, .total_steps = 20}); }},
        {"one_cycle.linear",
         [](auto t) {
             return optim::one_cycle_lr(t, {.max_lr = 0.1,
                                            .total_steps = 20,
                                            .pct_start = 0.25,
                                            .anneal_strategy = optim::Anneal::linear});
         }},
        {"one_cycle.three",
         [](auto t) {
             return optim::one_cycle_lr(t, {.max_lr = 0.5,
                                            .total_steps = 24,
                                            .div_factor = 10,
                                            .final_div_factor = 100,
                                            .three_phase = true});
         }},
        {"one_cycle.short", [](auto t) { return optim::one_cycle_lr(t, {.max_lr = 0.1, .total_steps = 2}); }},
        {"one_cycle.rise",
         [](auto t) { return optim::one_cycle_lr(t, {.max_lr = 0.1, .total_steps = 7, .pct_start = 1}); }}};
    CHECK(golden.names().size() == schedules.size());
    for (const auto& [name, rate] : schedules) {
        const auto expected = golden(name).to_vector<double>();
        for (std::size_t t = 0; t < expected.size(); ++t) {
            INFO(name << " at step " << t);
            CHECK(rate(static_cast<std::int64_t>(t)) == Approx(expected[t]).epsilon(1e-14));
        }
    }
}

TEST_CASE("after its last step a schedule stays, and a phase without a step is left out", "[optim]") {
    const optim::OneCycleOptions cycle{.max_lr = 0.1, .total_steps = 10};
    CHECK(optim::one_cycle_lr(9, cycle) == Approx(0.1 / 25 / 1e4));
    CHECK(optim::one_cycle_lr(1000, cycle) == optim::one_cycle_lr(9, cycle));
    CHECK(optim::linear_lr(1000, {.lr = 0.5}) == 0.5);
    CHECK(optim::one_cycle_lr(0, {.max_lr = 0.1, .total_steps = 4, .pct_start = 0.25}) ==
          0.1);  // the rise is 0 long
    CHECK(optim::one_cycle_lr(0, {.max_lr = 0.1, .total_steps = 1, .pct_start = 1}) == Approx(0.1 / 25 / 1e4));
    for (const double pct : {0.0, 0.3, 1.0})
        for (const std::int64_t total : {1, 2, 3, 1000})
            for (std::int64_t t = 0; t <= total; ++t)
                CHECK(std::isfinite(optim::one_cycle_lr(
                    t,
                    {.max_lr = 0.1, .total_steps = total, .pct_start = pct, .three_phase = total % 2 == 0})));
}

TEST_CASE("a schedule refuses what makes no rate", "[optim]") {
    const auto refused = [](const auto& call, const std::string& part) { refuses<ValueError>(part, call); };
    refused([] { optim::step_lr(0, {.lr = -1}); }, "lr must be finite");
    refused([] { optim::step_lr(0, {.gamma = std::nan("")}); }, "gamma must be finite");
    refused([] { optim::step_lr(-1, {}); },
            "step_lr: step is -1 and step_size 1; use at least 0 and at least 1");
    refused([] { optim::step_lr(0, {.step_size = 0}); }, "step_size 0");
    refused([] { optim::linear_lr(0, {.lr = -1}); }, "lr must be finite");
    refused([] { optim::linear_lr(0, {.start_factor = -1}); }, "start_factor must be");
    refused([] { optim::linear_lr(0, {.end_factor = -1}); }, "end_factor must be");
    refused([] { optim::linear_lr(0, {.total_iters = 0}); }, "linear_lr: step is 0 and total_iters 0");
    refused([] { optim::one_cycle_lr(0, {.max_lr = -1}); }, "max_lr must be");
    refused([] { optim::one_cycle_lr(0, {.total_steps = 0}); }, "total_steps 0");
    refused([] { optim::one_cycle_lr(0, {.div_factor = 0}); },
            "one_cycle_lr: div_factor must be finite and above 0");
    refused([] { optim::one_cycle_lr(0, {.final_div_factor = 0}); }, "final_div_factor must be");
    refused([] { optim::one_cycle_lr(0, {.pct_start = 1.5}); },
            "one_cycle_lr: pct_start must be 0 to 1, not 1.5");
    refused([] { optim::one_cycle_lr(0, {.pct_start = std::nan("")}); }, "pct_start must be 0 to 1, not nan");
}

TEST_CASE("an optimiser is moved, and not copied", "[optim]") {
    static_assert(!std::is_copy_constructible_v<optim::Adam> && std::is_move_constructible_v<optim::Adam>);
}
