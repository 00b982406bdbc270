// Leaves: what they own, and that they stay the same leaf.
#include <cmath>
#include <new>

#include "catch.h"
#include "weft/core.h"
#include "weft/nn/dropout.h"
#include "weft/optim/clipping.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"

using namespace weft;

namespace {

Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }
const auto doubled = [](const Tensor& g) { return g * 2; };

}  // namespace

TEST_CASE("set_grad copies: two parameters that were given one gradient have one each", "[autograd][leaves]") {
    Tensor a = leaf({0}), b = leaf({0}), g = tensor({3}, float64);
    a.set_grad(g);
    b.set_grad(g);
    // ‖(3, 3)‖ = 3√2, so clipping to √½ leaves a sixth of each.
    optim::clip_grad_norm(std::vector<Tensor>{a, b}, std::sqrt(0.5));
    CHECK(a.grad().item() == Approx(0.5).epsilon(1e-5));
    CHECK(b.grad().item() == Approx(0.5).epsilon(1e-5));
    CHECK(g.item() == 3);
    const Tensor wide = tensor({1}, float64).expand({3});
    Tensor c = leaf({1, 2, 3});
    c.set_grad(wide);
    c.grad().mul_(2);  // in place on every element of its own
    CHECK(c.grad().to_vector<double>() == std::vector<double>{2, 2, 2});
    c.set_grad({});
    CHECK_FALSE(c.grad().defined());
}

TEST_CASE("hook numbers stay unique when set_data replaces the tensor's values", "[autograd][leaves]") {
    Tensor x = leaf({1});
    const auto first = x.register_hook(doubled);
    x.set_data(tensor({5}, float64));
    const auto second = x.register_hook(doubled);
    CHECK(first != second);
    x.remove_hook(first);
    (x * 3).backward();
    CHECK(x.grad().item() == 6);  // the second hook is there still
}

TEST_CASE("a set_data that is refused leaves the leaf as it was", "[autograd][leaves]") {
    Tensor x = leaf({1, 2});
    x.register_hook(doubled);
    x.set_grad(ones({2}, float64));
    const Tensor y = sum(x * 3);
    CHECK_THROWS_AS(x.set_data(arange(3)), DTypeError);
    CHECK_THROWS_AS(x.set_data(zeros({1}, float64).expand({std::int64_t{1} << 58})), std::bad_alloc);
    CHECK(x.shape() == Shape{2});
    y.backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{7, 7});  // 1 + 2 · 3
}

TEST_CASE("a leaf that leaves the graph and comes back is the same leaf", "[autograd][leaves]") {
    Tensor x = leaf({1});
    x.register_hook(doubled);
    x.set_grad(tensor({1}, float64));
    const Tensor y = x * 3, z = x * 5;
    x.requires_grad_(false);
    CHECK_FALSE(x.requires_grad());
    CHECK_FALSE(x.grad().defined());
    z.backward();  // while it is out: no gradient is left
    x.requires_grad_();
    CHECK(x.grad().item() == 1);
    y.backward();
    CHECK(x.grad().item() == 7);  // 1 + 2 · 3
    x.requires_grad_(false).zero_grad();
    CHECK_FALSE(x.requires_grad_().grad().defined());
    x.requires_grad_(false).set_data(tensor({4, 5}, float64));
    x.requires_grad_();
    sum(x * x).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{16, 20});  // doubled by the hook
    x.requires_grad_(false).set_data(arange(2));
    CHECK_THROWS_AS(x.requires_grad_(), DTypeError);
    x.set_data(tensor({1}, float32));
    CHECK(x.requires_grad_().dtype() == float32);
}

TEST_CASE("under NoGrad no operation returns a tensor in the graph, also where it has nothing to do",
          "[autograd][leaves]") {
    const Tensor x = leaf({{1, 2}, {3, 4}});
    const auto results = [&] {
        Rng rng(1);
        const nn::Dropout off(0, rng);
        return std::vector<Tensor>{x.contiguous(),
                                   x.T().contiguous(),
                                   x.to(float64),
                                   sum_to(x, {2, 2}),
                                   sum_to(x, {2}),
                                   dropout(x, 0, rng),
                                   dropout(x, 0.5, rng, false),
                                   off(x),
                                   broadcast_to(x, {2, 2}),
                                   x.reshape({2, 2}),
                                   x.expand({2, 2}),
                                   x.slice(0, 0, 2)};
    };
    for (const Tensor& y : results()) CHECK(y.requires_grad());
    const NoGrad off;
    for (const Tensor& y : results()) CHECK_FALSE(y.requires_grad());
    for (std::size_t i : {0U, 2U, 3U, 5U, 6U, 7U}) CHECK(results()[i].shares_storage(x));
    // So an operation may compute its result by any of them, whatever the shapes.
    Tensor same = sum_to(x, {2, 2});
    const EnableGrad on;
    CHECK(record("same", same, {x}, {}, [](const Saved&, const Tensor& dy) {
              return Grads{dy};
          }).requires_grad());
}
