// What SGD, Adam and AdamW do beside the steps that test_groups.cpp compares with PyTorch's; what a step
// refuses.
#include <cmath>
#include <limits>

#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Doubles = std::vector<double>;

const double not_a_number = std::numeric_limits<double>::quiet_NaN(),
             inf = std::numeric_limits<double>::infinity();

Tensor leaf(const Doubles& values, const Shape& shape = {}) {
    const Shape flat{static_cast<std::int64_t>(values.size())};
    return from_vector(values, shape.empty() ? flat : shape).requires_grad_();
}

void give(Tensor parameter, const Doubles& gradient) {
    parameter.set_grad(from_vector(gradient, parameter.shape()));
}

Doubles values(const Tensor& x) { return x.detach().to_vector<double>(); }

struct Layer : nn::Module {
    nn::Parameter matrix = register_parameter("matrix", tensor({{1, 2}, {3, 4}}, float64));
    nn::Parameter vector = register_parameter("vector", tensor({5, 6}, float64));
};

}  // namespace

TEST_CASE("SGD's momentum adds up past gradients, plainly or by Nesterov", "[optim]") {
    Tensor p = leaf({0}), q = leaf({0});
    optim::SGD plain({p}, {.lr = 1, .momentum = 0.5}),
        nesterov({q}, {.lr = 1, .momentum = 0.5, .nesterov = true});
    // buffers 1, 2.5, 5.25 for gradients 1, 2, 4
    const Doubles gradients{1, 2, 4}, after{-1, -3.5, -8.75}, after_nesterov{-1.5, -4.75, -11.375};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        give(p, {gradients[i]});
        give(q, {gradients[i]});
        plain.step();
        nesterov.step();
        CHECK(values(p) == Doubles{after[i]});
        CHECK(values(q) == Doubles{after_nesterov[i]});
    }
}

TEST_CASE("matrices decay and vectors do not", "[optim]") {
    Layer layer;
    const auto groups = optim::decay_groups(layer, optim::AdamWOptions{.lr = 0.5, .weight_decay = 0.5});
    REQUIRE(groups.size() == 2);
    CHECK(groups[0].parameters.at(0).first == "matrix");
    CHECK(groups[1].parameters.at(0).first == "vector");
    optim::AdamW optimizer(groups);
    give(layer.matrix, {0, 0, 0, 0});
    give(layer.vector, {0, 0});
    optimizer.step();
    CHECK(values(layer.matrix) == Doubles{0.75, 1.5, 2.25, 3});  // (1 − 0.5 · 0.5) of each
    CHECK(values(layer.vector) == Doubles{5, 6});
}

TEST_CASE("a parameter without a gradient is skipped, and counts its own updates", "[fault][optim]") {
    Tensor p = leaf({1}), q = leaf({1});
    optim::Adam optimizer({p, q}, {.lr = 0.5, .eps = 0, .weight_decay = 0.1});
    give(p, {3});
    optimizer.step();
    optimizer.step();
    CHECK(values(q) == Doubles{1});
    give(q, {-2});
    p.zero_grad();
    const double before = p.item();
    optimizer.step();
    CHECK(q.item() == Approx(1.5));  // its first step: the learning rate
    CHECK(p.item() == before);
    CHECK(optimizer.steps() == 3);
}

TEST_CASE("a step without any gradient is refused", "[fault][optim]") {
    Tensor p = leaf({1});
    optim::SGD optimizer({p}, {.lr = 0.5});
    refuses<GraphError>(
        "optimiser: no parameter has a gradient; before step() call backward() on a loss that depends "
        "on them",
        [&] { optimizer.step(); });
    CHECK(optimizer.steps() == 0);
    give(p, {1});
    optimizer.step();
    CHECK(values(p) == Doubles{0.5});
}

TEST_CASE("a tied parameter is updated once", "[fault][optim]") {
    Tensor p = leaf({1});
    optim::SGD optimizer({p, p}, {.lr = 0.5});
    give(p, {1});
    optimizer.step();
    CHECK(values(p) == Doubles{0.5});

    struct Tied : nn::Module {
        nn::Parameter a = register_parameter("a", tensor({1}, float64)), b = register_parameter("b", a);
    } tied;
    optim::SGD other(tied, {.lr = 0.5});
    give(tied.a, {1});
    other.step();
    CHECK(values(tied.b) == Doubles{0.5});
}

TEST_CASE("a parameter without a name is refused by its number", "[fault][optim]") {
    Tensor p = tensor({1.0, 2, 3}).requires_grad_();
    p.set_grad(tensor({1, inf, 3}));
    optim::SGD single({p});
    refuses<ValueError>("'0'", [&] { single.step(); });
}

TEST_CASE("the largest finite gradient is no infinity", "[optim]") {
    Tensor p = leaf({1});
    optim::SGD optimizer({p}, {.lr = 0});
    give(p, {std::numeric_limits<double>::max()});
    optimizer.step();
    CHECK(optimizer.steps() == 1);
}

TEST_CASE("a step is seen by versions: backward through values of before is refused", "[optim]") {
    Tensor p = leaf({3});
    optim::SGD optimizer({p}, {.lr = 0.5});
    const Tensor y = sum(p * p);
    give(p, {1});
    optimizer.step();
    CHECK_THROWS_AS(y.backward(), GraphError);
}

TEST_CASE("a transposed parameter and a transposed gradient are updated where they stand", "[optim]") {
    Tensor base = tensor({{1, 2, 3}, {4, 5, 6}}, float64);
    Tensor p = base.T().requires_grad_();  // (3, 2), strided
    p.set_grad(tensor({{10, 20, 30}, {40, 50, 60}}, float64).T());
    optim::SGD optimizer({p}, {.lr = 0.1});
    optimizer.step();
    CHECK(max(abs(base - tensor({{0, 0, 0}, {0, 0, 0}}, float64))).item() < 1e-15);
}

TEST_CASE("zero_grad clears every gradient", "[optim]") {
    Layer layer;
    optim::SGD optimizer(layer);
    give(layer.vector, {1, 1});
    optimizer.zero_grad();
    CHECK_FALSE(layer.vector.grad().defined());
}
