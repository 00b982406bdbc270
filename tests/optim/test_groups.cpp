// Groups of parameters with options of their own, and Muon.
#include <cmath>
#include <limits>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Named = nn::NamedTensors;

// The parameters at the start of a golden case.
std::vector<Tensor> start_of(const Golden& golden, const std::string& name) {
    std::vector<Tensor> parameters;
    for (int i = 0; i < 3; ++i)
        parameters.push_back(golden(name + "/start" + std::to_string(i)).clone().requires_grad_());
    return parameters;
}

// Takes PyTorch's gradients for six steps and compares the parameters after each.
template <class Optimizer>
void check_steps(
    const Golden& golden, const std::string& name, std::vector<Tensor>& parameters, Optimizer& optimizer,
    const std::function<void(int)>& before = [](int) {}) {
    for (int step = 0; step < 6; ++step) {
        const auto array = [&](const char* what, std::size_t i) {
            return golden(name + "/" + what + std::to_string(i) + "." + std::to_string(step));
        };
        before(step);
        for (std::size_t i = 0; i < 3; ++i) parameters[i].set_grad(array("gradient", i));
        optimizer.step();
        for (std::size_t i = 0; i < 3; ++i) {
            INFO(name << ", parameter " << i << ", step " << step);
            CHECK(distance(parameters[i], array("after", i)) < 1e-12);
        }
    }
}

struct Net : nn::Module {
    nn::Linear body = register_module("body", nn::Linear(2, 3));
    nn::Linear head = register_module("head", nn::Linear(3, 1));
    Net() : Module("Net") {}
};

std::vector<std::string> names_of(const Named& state) {
    std::vector<std::string> names;
    for (const auto& [name, value] : state) names.push_back(name);
    return names;
}

// One step from 0 with this gradient, without weight decay: minus the orthogonalised gradient.
Tensor moved(const Tensor& gradient, optim::MuonOptions options = {}) {
    options.lr = 1, options.weight_decay = 0;
    Tensor p = zeros(gradient.shape(), gradient.dtype()).requires_grad_();
    p.set_grad(gradient);
    optim::Muon({p}, options).step();
    return p.detach();
}

}  // namespace

TEST_CASE("groups with learning rates, betas, eps and decays of their own step as PyTorch's",
          "[golden][optim]") {
    const Golden golden("optim.safetensors");
    {
        std::vector<Tensor> p = start_of(golden, "sgd");
        optim::SGD optimizer({{{p[0]}, {.lr = 0.03, .momentum = 0.9, .weight_decay = 0.2}},
                              {{p[1]}, {.lr = 0.004, .momentum = 0.5}},
                              {{p[2]}, {.lr = 0, .momentum = 0.9}}});
        check_steps(golden, "sgd", p, optimizer);
    }
    {
        std::vector<Tensor> p = start_of(golden, "adam");
        optim::Adam optimizer({{{p[0]}, {.lr = 0.03, .weight_decay = 0.2}},
                               {{p[1]}, {.lr = 0.004, .beta1 = 0.6, .beta2 = 0.7, .eps = 1e-2}},
                               {{p[2]}, {.lr = 0}}});
        check_steps(golden, "adam", p, optimizer);
    }
    std::vector<Tensor> p = start_of(golden, "adamw");
    optim::AdamW optimizer({{{p[0]}, {.lr = 0.03, .weight_decay = 0.2}},
                            {{p[1]}, {.lr = 0.004, .beta1 = 0.6, .beta2 = 0.7, .eps = 1e-2}},
                            {{p[2]}, {.lr = 0}}});
    check_steps(golden, "adamw", p, optimizer);
}

TEST_CASE("a schedule scales the rates of all groups as PyTorch's does", "[golden][optim]") {
    const Golden golden("optim.safetensors");
    std::vector<Tensor> p = start_of(golden, "schedule");
    optim::AdamW optimizer({{{p[0]}, {.lr = 0.03, .weight_decay = 0.2}},
                            {{p[1]}, {.lr = 0.004, .beta1 = 0.6, .beta2 = 0.7, .eps = 1e-2}},
                            {{p[2]}, {.lr = 0}}});
    check_steps(golden, "schedule", p, optimizer, [&](int step) { optimizer.set_lr(0.03 / (1 + step)); });
}

TEST_CASE("set_lr keeps the ratios of the groups, also after a rate of 0", "[optim]") {
    const Net net;
    optim::AdamW optimizer({{net.body, {.lr = 1e-2}}, {net.head, {.lr = 4e-2, .beta2 = 0.9}}});
    optimizer.set_lr(0);
    CHECK(optimizer.lr(1) == 0);
    optimizer.set_lr(0.5);
    CHECK(optimizer.lr() == 0.5);
    CHECK(optimizer.lr(1) == Approx(2).epsilon(1e-15));
    CHECK(optimizer.options(1).beta2 == 0.9);
    optimizer.set_lr(1, 0.25);  // from here on half of the first
    CHECK(optimizer.lr() == 0.5);
    optimizer.set_lr(3);
    CHECK(optimizer.lr(1) == 1.5);
    optimizer.set_lr(0);  // where a schedule ends
    optim::AdamWOptions options = optimizer.options(1);
    options.weight_decay = 0.5;
    optimizer.set_options(1, options);
    optimizer.set_lr(2);
    CHECK(optimizer.lr(1) == 1);

    optim::SGD equal({{net.body, {.lr = 0}}, {net.head, {.lr = 0}}});
    equal.set_lr(0.1);
    CHECK(equal.lr(1) == 0.1);
    optim::SGD frozen({{net.body, {.lr = 0}}, {net.head, {.lr = 0.1}}});
    CHECK(frozen.lr(1) == 0.1);
    frozen.set_lr(1, 0.2);
    CHECK(frozen.lr(1) == 0.2);
}

TEST_CASE("a group's options are read and replaced", "[optim]") {
    const Net net;
    optim::AdamW optimizer({{net.body, {.lr = 0.1}}, {net.head, {.lr = 0.2}}});
    REQUIRE(optimizer.groups().size() == 2);
    CHECK(optimizer.groups()[1].parameters[0].second.shares_storage(net.head.weight));
    CHECK(optimizer.groups()[1].options.lr == 0.2);
    optimizer.set_options(1, {.lr = 0.5, .eps = 0.25});
    CHECK(optimizer.groups()[1].options.eps == 0.25);
    CHECK(optimizer.options().lr == 0.1);
    CHECK(optimizer.options(1).lr == 0.5);
}

TEST_CASE("momentum may begin and end during training, in one group alone", "[optim]") {
    Tensor p = tensor({0}, float64).requires_grad_(), q = tensor({0}, float64).requires_grad_();
    optim::SGD optimizer({{{p}, {.lr = 1}}, {{q}, {.lr = 1, .momentum = 0.5}}});
    const auto step = [&](double gradient) {
        p.set_grad(tensor({gradient}, float64));
        q.set_grad(tensor({1}, float64));
        optimizer.step();
        return p.item();
    };
    CHECK(step(1) == -1);
    optimizer.set_options(0, {.lr = 1, .momentum = 0.5});
    const Named state = optimizer.state_dict();  // a buffer that has just begun is 0
    optimizer.load_state_dict(state);
    CHECK(names_of(optimizer.state_dict()) == names_of(state));
    CHECK(step(2) == -3);
    CHECK(step(4) == -8);  // 4 + 0.5 · 2
    optimizer.set_options(0, {.lr = 1, .momentum = 0.25});
    CHECK(step(1) == -10.25);  // the buffer stays: 1 + 0.25 · 5
    CHECK(optimizer.state_dict().size() == 5);
    optimizer.set_options(0, {.lr = 1});
    CHECK(step(1) == -11.25);
    CHECK(optimizer.state_dict().size() == 4);
    CHECK(q.item() == -(1 + 1.5 + 1.75 + 1.875 + 1.9375));
}

TEST_CASE("names of a second group are told apart in the state, and a run resumes with groups", "[optim]") {
    const auto run = [](Net& net, optim::AdamW& optimizer, int steps) {
        for (int i = 0; i < steps; ++i) {
            optimizer.zero_grad();
            sum(pow(net.head(tanh(net.body(ones({1, 2})))), 2)).backward();
            optimizer.step();
        }
    };
    const auto make = [](const Net& net) {
        return optim::AdamW({{net.body, {.lr = 0.01}}, {net.head, {.lr = 0.1, .beta2 = 0.9, .eps = 1e-3}}});
    };
    manual_seed(1);
    Net whole;
    manual_seed(1);
    Net stopped;
    optim::AdamW without_pause = make(whole), before = make(stopped);
    run(whole, without_pause, 5);
    run(stopped, before, 2);
    const Named state = before.state_dict();
    CHECK(names_of(state) == std::vector<std::string>{
                                 "step", "weight.step", "weight.exp_avg", "weight.exp_avg_sq", "bias.step",
                                 "bias.exp_avg", "bias.exp_avg_sq", "1.weight.step", "1.weight.exp_avg",
                                 "1.weight.exp_avg_sq", "1.bias.step", "1.bias.exp_avg", "1.bias.exp_avg_sq"});
    optim::AdamW after = make(stopped);
    after.load_state_dict(state);
    run(stopped, after, 3);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(same_bits(stopped.parameters()[i].detach(), whole.parameters()[i].detach()));

    // Groups change neither the names of a model's own parameters nor a state from before there were any.
    optim::AdamW plain(whole);
    sum(whole.head(whole.body(ones({1, 2})))).backward();
    plain.step();
    optim::AdamW grouped(optim::decay_groups(whole, optim::AdamWOptions{}));
    grouped.load_state_dict(plain.state_dict());
    CHECK(grouped.steps() == 1);
}

TEST_CASE("a group without its own options would not compile", "[optim]") {
    static_assert(!std::is_constructible_v<optim::AdamW::Group, nn::Linear>);
}

TEST_CASE("Muon steps as PyTorch's, in float64", "[golden][optim]") {
    const Golden golden("optim.safetensors");
    std::vector<Tensor> p = start_of(golden, "muon"), q = start_of(golden, "muon.plain");
    optim::Muon muon(p, {.lr = 0.02});
    check_steps(golden, "muon", p, muon);
    optim::Muon plain(q, {.lr = 0.02,
                          .weight_decay = 0.3,
                          .momentum = 0.8,
                          .nesterov = false,
                          .ns_coefficients = {2, -1.5, 0.5},
                          .eps = 5,
                          .ns_steps = 2});
    check_steps(golden, "muon.plain", q, plain);
}

TEST_CASE("Muon brings every singular value near 1, whatever the gradient's size", "[optim]") {
    Rng rng(1);
    const Tensor u = nn::init::orthogonal_(zeros({4, 4}, float64), 1, rng),
                 v = nn::init::orthogonal_(zeros({4, 6}, float64), 1, rng),
                 s = tensor({{1, 0, 0, 0}, {0, 0.5, 0, 0}, {0, 0, 0.1, 0}, {0, 0, 0, 0.02}}, float64);
    const Tensor gradient = matmul(matmul(u, s), v);  // (4, 6)
    for (const double size : {1e-5, 1.0, 1e200}) {
        const Tensor step = -matmul(matmul(u.T(), moved(gradient * size)), v.T());  // (4, 4), diagonal
        for (std::int64_t i = 0; i < 4; ++i)
            for (std::int64_t j = 0; j < 4; ++j) {
                INFO(size << ": " << i << ", " << j);
                if (i == j) CHECK((step.at(i, i) > 0.6 && step.at(i, i) < 1.3));
                if (i != j) CHECK(std::abs(step.at(i, j)) < 1e-9);
            }
        // A tall matrix moves as its transpose, times √(rows / columns).
        CHECK(distance(moved((gradient * size).T()), moved(gradient * size).T() * std::sqrt(1.5)) < 1e-9);
    }
    for (const DType dtype : {float32, float64})
        for (const double eps : {1e-7, 1e-50, 5e-324}) {  // 1 / eps may overflow
            INFO(name(dtype) << ' ' << eps);
            CHECK(all(moved(zeros({2, 3}, dtype), {.eps = eps}) == 0));
            const double tiny = dtype == float32 ? 1e-42 : 1e-315;
            if (eps < tiny)
                CHECK(allclose(moved(eye(2, dtype) * tiny, {.eps = eps}), moved(eye(2, dtype)), 1e-3, 1e-3));
        }
    const Tensor single = moved(gradient.to(float32));
    CHECK(single.dtype() == float32);
    CHECK(distance(single, moved(gradient)) < 1e-4);
}

TEST_CASE("Muon names the parameters that are no matrices, and options that make no step", "[optim]") {
    const Net net;
    refuses<ShapeError>("Muon: not a matrix: 'body.bias' (3,), 'head.bias' (1,); give these to an AdamW",
                        [&] { optim::Muon{net}; });
    const std::vector<Tensor> many(7, ones({2}));
    refuses<ShapeError>("'3' (2,) and 3 more; give", [&] { optim::Muon{many}; });
    refuses<ShapeError>("'0' (2, 2, 2)", [] { optim::Muon(std::vector<Tensor>{ones({2, 2, 2})}); });
    const auto refused = [](const optim::MuonOptions& options, const std::string& part) {
        refuses<ValueError>(part, [&] { optim::Muon({ones({2, 2})}, options); });
    };
    refused({.lr = -1}, "lr must be finite");
    refused({.weight_decay = std::nan("")}, "weight_decay must be finite");
    refused({.momentum = 1}, "momentum must be at least 0 and below 1, not 1");
    refused({.eps = -1}, "eps must be finite");
    refused({.eps = 0}, "Muon: eps is 0 and ns_steps 5; use more than 0 and at least 0");
    refused({.ns_steps = -1}, "ns_steps -1");
    refused({.ns_coefficients = {1, INFINITY, 1}}, "ns_coefficients must be finite, not inf");
    optim::Muon muon({ones({2, 2}).requires_grad_()});
    CHECK_THROWS_AS(muon.set_options(0, {.eps = 0}), ValueError);
    CHECK(muon.options().eps == 1e-7);
}
