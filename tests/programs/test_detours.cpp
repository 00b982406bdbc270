// What programs ported from elsewhere stumbled over, as they are written now: one program, a case for each.
#include <sstream>
#include <type_traits>

#include "catch.h"
#include "scratch.h"
#include "source.h"
#include "weft/weft.h"

using namespace weft;
using source::distance;
using source::same_bits;

namespace {

struct Net : nn::Module {
    nn::Linear hidden = register_module("hidden", nn::Linear(2, 16));
    nn::Linear out = register_module("out", nn::Linear(16, 1));
    Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
};
struct Forgotten : nn::Module {
    nn::Linear hidden{2, 16};
    nn::Linear out = register_module("out", nn::Linear(16, 1));
    Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
};

template <class X>
concept sums_over_a_number = requires(const X& x) {
    x.sum(1, 2);
};

}  // namespace

TEST_CASE("without detours: a child is named once, and a forgotten one is found", "[programs][detours]") {
    const Net net;
    CHECK(net.named_parameters().size() == 4);
    const Forgotten forgotten;
    const Tensor loss = sum(forgotten(ones({3, 2})));
    loss.backward();
    const check::FlowReport report = check::gradient_flow(forgotten, loss);
    CHECK_FALSE(report.passed());
    CHECK(contains(report.str(), "not registered"));
    const Tensor of_net = sum(net(ones({3, 2})));
    of_net.backward();
    for (const check::FlowRow& row : check::gradient_flow(net, of_net).rows)
        CHECK(row.problem != "not registered");
}

TEST_CASE("without detours: what would be half effective does not compile", "[programs][detours]") {
    STATIC_REQUIRE_FALSE(std::is_assignable_v<decltype((std::declval<nn::Linear&>().weight)), Tensor>);
    STATIC_REQUIRE_FALSE(std::is_assignable_v<decltype((std::declval<Net&>().hidden)), nn::Linear>);
    STATIC_REQUIRE_FALSE(std::is_assignable_v<decltype(std::declval<Tensor&>()[0]), Tensor>);
    STATIC_REQUIRE_FALSE(sums_over_a_number<Tensor>);
    CHECK(ones(2, 3, 4).sum({1, 2}).shape() == Shape{2});
}

TEST_CASE("without detours: types promote, and an error says in which module", "[programs][detours]") {
    const Tensor x = tensor({0.5, 1.5}), ids = tensor({2, 3});
    CHECK(same_bits(x * ids + (x > 1), tensor({1.0, 5.5})));
    const nn::Sequential net{nn::Linear(2, 3), nn::ReLU(), nn::Linear(4, 1)};
    CHECK(contains(message_of<ShapeError>([&] { net(ones({1, 2})); }), "Sequential[2]"));
}

TEST_CASE("without detours: one mask of keys serves every number of queries", "[programs][detours]") {
    Rng rng(1);
    const nn::MultiHeadAttention attention(8, 2, rng);
    const Tensor memory = randn({2, 4, 8}, rng), queries = randn({2, 3, 8}, rng);
    const Mask real = Mask::keys(tensor({{1, 1, 0, 0}, {1, 1, 1, 1}}, boolean));
    const Tensor all = attention(queries, memory, memory, real);
    const Tensor one = attention(queries.slice(1, 2, 3), memory, memory, real);
    CHECK(distance(all.slice(1, 2, 3), one) < 1e-6);
    CHECK(attention(memory, memory, memory, real).shape() == Shape{2, 4, 8});
    const Tensor packed = attention(memory, memory, memory, Mask::documents(tensor({0, 0, 1, 1})));
    const Tensor second = memory.slice(1, 2, 4);
    CHECK(distance(packed.slice(1, 2, 4), attention(second, second, second)) < 1e-6);
}

TEST_CASE("without detours: small words", "[programs][detours]") {
    CHECK(randn(2, 3).shape() == zeros(2, 3).shape());
    CHECK(same_bits(clamp(tensor({-1.0, 2}), 0), tensor({0.0, 2})));
    training::DataLoader loader(ones({4, 2}), zeros({4}), {.batch_size = 2});
    for (const auto& [x, y] : loader) CHECK(x.shape() == Shape{2, 2});
    nn::Sequential net{nn::Flatten(), nn::Linear(4, 3), nn::GELU(), nn::Identity(), nn::SiLU(), nn::Tanh()};
    CHECK(net(ones({2, 2, 2})).shape() == Shape{2, 3});
    Tensor x = ones({2}).requires_grad_();
    CHECK(message_of<GraphError>([&] { x -= ones({2}); }).starts_with("subtract"));
    CHECK(x.repr() == "tensor([1. 1.], shape=(2,), dtype=float32, requires_grad=true)");
}

TEST_CASE("without detours: modules are cloned, and lists give their modules", "[programs][detours]") {
    nn::ModuleList<nn::Linear> layers;
    layers.append(nn::Linear(2, 2));
    const nn::ModuleList<nn::Linear> copy = nn::clone(layers);
    const NoGrad off;
    layers[0].weight.zero_();
    CHECK(max(abs(copy[0].weight)).item() > 0);
    nn::Sequential net{nn::Linear(2, 2), relu};
    net.at<nn::Linear>(0).weight.fill_(1);
    CHECK(same_bits(net.parameters()[0], ones({2, 2})));
}

TEST_CASE("without detours: groups, Muon, losses, initial values and indexing", "[programs][detours]") {
    Net net;
    optim::AdamW optimizer({{net.hidden, {.lr = 1e-4, .beta2 = 0.95}}, {net.out, {.lr = 1e-3, .eps = 1e-6}}});
    optimizer.set_lr(1e-5);
    CHECK(optimizer.lr(1) == Approx(1e-4));
    optim::Muon muon(std::vector<Tensor>{net.hidden.weight}, {.lr = 0.02});
    sum(net(ones({1, 2}))).backward();
    muon.step(), optimizer.step();
    const Tensor p = tensor({0.25, 0.75});
    CHECK(same_bits(mse_loss(p, zeros({2}), Reduction::none), p * p));
    CHECK(binary_cross_entropy(p, ones({2})).item() == Approx(-(std::log(0.25) + std::log(0.75)) / 2));
    CHECK(kl_div(log(p), p, Reduction::sum).item() == Approx(0).margin(1e-7));
    CHECK(smooth_l1_loss(p, zeros({2}), 1, Reduction::sum).item() == Approx((0.0625 + 0.5625) / 2));
    nn::init::orthogonal_(net.hidden.weight);
    CHECK(same_bits(unique(tensor({3, 1, 3})).values.to(float64), tensor({1, 3}).to(float64)));
    CHECK(same_bits(scatter(zeros({3}), 0, tensor({2}), tensor({5.0})), tensor({0.0, 0, 5})));
}

TEST_CASE("without detours: derivatives of functions", "[programs][detours]") {
    const auto f = [](const Tensor& x) { return sum(x * x * x); };
    const Tensor x = tensor({1.0, 2}, float64), v = tensor({1.0, 1}, float64);
    CHECK(same_bits(jvp(f, x, v).second, tensor(15.0, float64)));
    CHECK(same_bits(vjp(f, x).second, tensor({3.0, 12}, float64)));
    CHECK(same_bits(hvp(f, x, v).second, tensor({6.0, 12}, float64)));
    CHECK(same_bits(hessian(f, x), tensor({{6.0, 0}, {0, 12}}, float64)));
    CHECK(same_bits(jacobian([](const Tensor& x) { return x * x; }, x), tensor({{2.0, 0}, {0, 4}}, float64)));
}

TEST_CASE("without detours: a generator may be left out", "[programs][detours]") {
    manual_seed(1);
    const std::int64_t first = lm::sample(tensor({1.0, 1, 1, 1}), {});
    CHECK((first >= 0 && first < 4));
    const Tensor q = ones({4, 8});
    CHECK(scaled_dot_product_attention(q, q, q, {.dropout = 0.5}).shape() == Shape{4, 8});
}

TEST_CASE("without detours: a profile says where the time went", "[programs][detours]") {
    const Net net;
    const Profile profile;
    sum(net(ones({3, 2}))).backward();
    std::ostringstream out;
    out << profile;
    CHECK(contains(out.str(), "linear"));
    CHECK(contains(out.str(), "backward"));
}
