// Numbers near the ends of a type, with a large offset or in long rows: operations have the digits that their
// type holds, and so have their gradients.
#include <cmath>
#include <functional>
#include <limits>

#include "catch.h"
#include "weft/core.h"
#include "weft/optim/clipping.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"

using namespace weft;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
using Numbers = std::vector<double>;
using Function = std::function<Tensor(const Tensor&)>;

Numbers numbers(const Tensor& x) { return x.detach().to(float64).contiguous().to_vector<double>(); }

void check_close(const Numbers& found, const Numbers& wanted, double tolerance) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("element " << i << ": " << found[i] << ", wanted " << wanted[i]);
        if (std::isnan(wanted[i]))
            CHECK(std::isnan(found[i]));
        else if (std::isinf(wanted[i]) || wanted[i] == 0)
            CHECK(found[i] == wanted[i]);
        else
            CHECK(std::abs(found[i] - wanted[i]) <= tolerance * std::abs(wanted[i]));
    }
}

// f(x) and the gradient of Σ weights · f(x), as backward computes it, with create_graph, and Composed.
void check_values(const Function& f, const Numbers& x, DType dtype, const Numbers& values,
                  const Numbers& slopes, Numbers weights = {}) {
    const double tolerance = dtype == float32 ? 1e-6 : 1e-13;
    for (const bool composed : {false, true})
        for (const bool create_graph : {false, true}) {
            INFO(name(dtype) << (composed ? ", composed" : "") << (create_graph ? ", create_graph" : ""));
            const Composed mode(composed);
            const Tensor leaf = from_vector(x).to(dtype).requires_grad_();
            const Tensor y = f(leaf);
            check_close(numbers(y), values, tolerance);
            const Tensor dy =
                weights.empty() ? ones_like(y) : from_vector(weights).to(dtype).reshape(y.shape());
            const Tensor dx = grad({y}, {leaf}, {dy}, {.create_graph = create_graph})[0];
            check_close(numbers(dx), slopes, tolerance);
        }
}

// The derivative of Σ f′, by create_graph.
Numbers curvature(const Function& f, const Numbers& x) {
    const Tensor leaf = from_vector(x).requires_grad_();
    const Tensor dx = grad({sum(f(leaf))}, {leaf}, {}, {.create_graph = true})[0];
    return numbers(grad({sum(dx)}, {leaf})[0]);
}

}  // namespace

TEST_CASE("a long cumsum is as exact as sum, and so is its gradient", "[ops][numbers]") {
    const std::int64_t n = 10'000'000;
    const Tensor x = full({n}, 0.1).requires_grad_();
    const Tensor y = cumsum(x, 0);
    CHECK(y.at(n - 1) == Approx(1'000'000).epsilon(1e-6));
    y.backward(full({n}, 0.1));
    CHECK(x.grad().at(0) == Approx(1'000'000).epsilon(1e-6));
    // What float64 rounds off is kept, too.
    check_values([](const Tensor& x) { return cumsum(x, 0); }, {1e16, 1, 1, -1e16, 1}, float64,
                 {1e16, 1e16, 1e16 + 2, 2, 3}, {5, 4, 3, 2, 1});
    check_close(numbers(cumsum(tensor({1.0, inf, 2, -inf}), 0)), {1, inf, inf, NaN}, 0);
    CHECK(cumsum(tensor({INT64_MAX, std::int64_t{1}}), 0).to_vector<std::int64_t>()[1] == INT64_MIN);
}

TEST_CASE("cumprod and prod form the products that their definitions form, and no others", "[ops][numbers]") {
    const Function running = [](const Tensor& x) { return cumprod(x, 0); };
    const Function whole = [](const Tensor& x) { return prod(x, 0); };
    for (const DType dtype : {float32, float64}) {
        check_values(running, {1e-30, 1e30, 1e30, 1e-30}, dtype, {1e-30, 1, 1e30, 1},
                     {2e30, 2e-30, 1e-30, 1e30}, {1, 1, 0, 1});
        const double square = dtype == float32 ? inf : 1e60;
        check_values(whole, {0, 1e30, 1, 1e30}, dtype, {0}, {square, 0, 0, 0});
        check_values(whole, {0, 0, 3}, dtype, {0}, {0, 0, 0});
        check_values(whole, {2, 0, 3, -1}, dtype, {0}, {0, -6, 0, 0});
        check_values(running, {2, 0, 3}, dtype, {2, 0, 0}, {1, 8, 0});
        check_values(whole, {2, inf, 3}, dtype, {inf}, {inf, 6, inf});
    }
    CHECK(numbers(cumprod(tensor({3, INT64_MAX}), 0))[0] == 3);
}

TEST_CASE("only the gradient of a product can leave the range, not what it is made of", "[ops][numbers]") {
    const auto check = [](DType dtype, const Numbers& x, const Numbers& values, const Numbers& slopes) {
        for (const bool create_graph : {false, true}) {
            const Tensor leaf = from_vector(x).to(dtype).requires_grad_();
            const Tensor y = prod(leaf);
            check_close(numbers(y), values, 1e-6);
            check_close(numbers(grad({y}, {leaf}, {}, {.create_graph = create_graph})[0]), slopes, 1e-6);
        }
    };
    check(float32, {1e-30, 1e-30, 1e30, 1e30}, {1}, {1e30, 1e30, 1e-30, 1e-30});
    check(float64, {1e-120, 1e-120, 1e-120, 1e120, 1e120, 1e120}, {0},
          {1e120, 1e120, 1e120, 1e-120, 1e-120, 1e-120});
    check(float64, {1e200, 1e-200, 1e-200, 1e200}, {1}, {1e-200, 1e200, 1e200, 1e-200});
}

TEST_CASE("cumprod has gradients of the second and third order, where factors are 0, too", "[ops][numbers]") {
    for (const Numbers& x : {Numbers{2, -3, 0.5, 4}, Numbers{2, 0, 0.5, 4}, Numbers{0, 3, 0, 1}}) {
        const double a = x[0], b = x[1], c = x[2], d = x[3];
        // Σ of the first derivatives of abcd, and of that of its own, …
        CHECK(curvature([](const Tensor& x) { return prod(x); }, x) ==
              Numbers{b * c + b * d + c * d, a * c + a * d + c * d, a * b + a * d + b * d,
                      a * b + a * c + b * c});
        const Tensor leaf = from_vector(x).requires_grad_();
        Tensor y = prod(leaf);
        for (int order = 0; order < 3; ++order) y = sum(grad({y}, {leaf}, {}, {.create_graph = true})[0]);
        CHECK(y.item() == 6 * (a + b + c + d));
    }
}

TEST_CASE("a product of nothing is 1 and stays in the graph", "[ops][numbers]") {
    const Tensor x = zeros({0, 3}).requires_grad_();
    for (const Tensor& y : {sum(prod(x, 0)), sum(prod(x, 1)), prod(x)}) {
        CHECK(y.requires_grad());
        CHECK(grad({y}, {x})[0].shape() == Shape{0, 3});
    }
    CHECK(numbers(prod(x, 0)) == Numbers{1, 1, 1});
    CHECK(prod(zeros({2, 0}, int64), 1).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 1});
    CHECK(numbers(cumprod(x, 0)).empty());
}

TEST_CASE("binary cross-entropy keeps its digits where the answer is right", "[ops][numbers]") {
    const auto loss = [](double target) {
        return [target](const Tensor& x) { return binary_cross_entropy_with_logits(x, full_like(x, target)); };
    };
    const double at_10 = std::log1p(std::exp(-10.0)), slope_10 = 1 / (1 + std::exp(10.0));
    for (const DType dtype : {float32, float64}) {
        check_values(loss(1), {10}, dtype, {at_10}, {-slope_10});
        check_values(loss(0), {-10}, dtype, {at_10}, {slope_10});
        check_values(loss(1), {25}, dtype, {std::log1p(std::exp(-25.0))},
                     {-std::exp(-25.0) / (1 + std::exp(-25.0))});
        check_values(loss(1), {80}, dtype, {std::exp(-80.0)}, {-std::exp(-80.0)});
        check_values(loss(0), {80}, dtype, {80}, {1});
        check_values(loss(0.25), {2}, dtype, {2 - 0.5 + std::log1p(std::exp(-2.0))},
                     {1 / (1 + std::exp(-2.0)) - 0.25});
        check_values([](const Tensor& x) { return softplus(x); }, {25, -25, 0, 1000}, dtype,
                     {25 + std::exp(-25.0), std::log1p(std::exp(-25.0)), std::log(2.0), 1000},
                     {1 / (1 + std::exp(-25.0)), std::exp(-25.0) / (1 + std::exp(-25.0)), 0.5, 1});
    }
    for (const double x : {-25.0, -1.0, 0.0, 1.0, 25.0})
        for (const double t : {0.0, 1.0}) {
            const double e = std::exp(-std::abs(x));
            check_close(curvature(loss(t), {x}), {e / ((1 + e) * (1 + e))}, 1e-13);
        }
    const Tensor t = tensor({0.5}).requires_grad_();
    binary_cross_entropy_with_logits(tensor({3.0}), t).backward();
    CHECK(t.grad().item() == -3);
}

TEST_CASE("norm(x, p < 1) has a gradient of 0 where an element is, and fits its type", "[ops][numbers]") {
    const Function half = [](const Tensor& x) { return norm(x, 0.5); };
    for (const DType dtype : {float32, float64}) {
        check_values(half, {0, 4}, dtype, {4}, {0, 1});
        check_values(half, {0, 0}, dtype, {0}, {0, 0});
        check_values(half, {4, 4}, dtype, {16}, {2, 2});
    }
    CHECK(norm(full({4}, 1e-30), 0.01).item() == Approx(std::pow(4.0, 100) * 1e-30).epsilon(1e-4));
    for (const double y : curvature(half, {0, 4})) CHECK(std::isfinite(y));
}

TEST_CASE("std scales what its squares cannot hold, as norm does", "[ops][numbers]") {
    const Function deviation = [](const Tensor& x) { return weft::std(x, 0); };
    const double root = std::sqrt(0.5);
    check_values(deviation, {1e20, -1e20}, float32, {std::sqrt(2.0) * 1e20}, {root, -root});
    check_values(deviation, {1e-25, -1e-25}, float32, {std::sqrt(2.0) * 1e-25}, {root, -root});
    check_values(deviation, {1e200, -1e200}, float64, {std::sqrt(2.0) * 1e200}, {root, -root});
    check_values(deviation, {1e-200, -1e-200}, float64, {std::sqrt(2.0) * 1e-200}, {root, -root});
    check_values(deviation, {3e38, 3e38}, float32, {0}, {0, 0});
    check_values(deviation, {1, 2}, float64, {root}, {-root, root});
    check_values(deviation, {5}, float64, {NaN}, {NaN});
}

TEST_CASE("var and batch norm do not lose a small deviation beside a large mean", "[ops][numbers]") {
    Rng rng(3);
    const Tensor x = (randn({64, 8, 32}, rng, float64) + 1e6).to(float32), exact = x.to(float64);
    for (const Axes& axes : {Axes{0}, Axes{2}, Axes{0, 2}, Axes{}}) {
        const Tensor found = var(x, axes).to(float64), wanted = var(exact, axes);
        CHECK(max(abs(found / wanted - 1)).item() < 2e-6);
    }
    Tensor leaf = x.detach().requires_grad_(), wide = exact.detach().requires_grad_();
    const Tensor weights = randn({64, 8, 32}, rng);
    sum(var(leaf, 0) * weights[0]).backward();
    sum(var(wide, 0) * weights[0].to(float64)).backward();
    CHECK(max(abs(leaf.grad().to(float64) - wide.grad())).item() < 1e-6);
    leaf.zero_grad(), wide.zero_grad();
    const BatchNormStats running{zeros({8}), zeros({8})};
    const BatchNormOptions training{.training = true};
    const Tensor y = batch_norm(leaf, running, {}, {}, training), z = batch_norm(wide, {}, {}, {}, training);
    CHECK(max(abs(y.to(float64) - z)).item() < 1e-5);
    check_close(numbers(running.mean), numbers(mean(exact, {0, 2}) * 0.1), 1e-7);
    check_close(numbers(running.var), numbers(var(exact, {0, 2}) * 0.1), 1e-6);
    y.backward(weights), z.backward(weights.to(float64));
    CHECK(max(abs(leaf.grad().to(float64) - wide.grad())).item() < 1e-5);
    check_close(curvature([](const Tensor& x) { return var(x * x * x, 0); }, {1, 2, 4}),
                curvature(
                    [](const Tensor& x) {
                        const Tensor y = x * x * x;
                        return sum(pow(y - mean(y), 2)) / 2;
                    },
                    {1, 2, 4}),
                1e-12);
}

TEST_CASE("layer norm of a constant row is the bias, however large, and a large mean costs no digits",
          "[ops][numbers]") {
    const auto check_constant = [](double value, std::int64_t C, DType dtype) {
        for (const bool composed : {false, true}) {
            const Composed mode(composed);
            const Tensor x = full({2, C}, value, dtype).requires_grad_(), bias = full({C}, 0.5, dtype),
                         y = layer_norm(x, {}, bias);
            INFO(value << " " << C << (composed ? ", composed" : ""));
            CHECK(all(y == 0.5));
            y.backward(arange(0, 2 * C).to(dtype).reshape({2, C}));
            CHECK(all(isfinite(x.grad())));
        }
    };
    check_constant(1000.3, 768, float32);
    check_constant(1e38, 100, float32);
    check_constant(1e30, 7, float64);
    check_constant(1e308, 7, float64);
    check_constant(0, 7, float32);
    Rng rng(4);
    const Tensor x = (randn({4, 100}, rng, float64) + 1e6).to(float32).requires_grad_(),
                 wide = x.detach().to(float64).requires_grad_(), dy = randn({4, 100}, rng);
    const Tensor y = layer_norm(x, {}), z = layer_norm(wide, {});
    CHECK(max(abs(y.to(float64) - z)).item() < 1e-5);
    y.backward(dy), z.backward(dy.to(float64));
    CHECK(max(abs(x.grad().to(float64) - wide.grad())).item() < 1e-5);
    const Tensor huge = layer_norm(tensor({1e30, -1e30, 3e30, 1e30}), {}),
                 plain = layer_norm(tensor({1.0, -1, 3, 1}), {}, {}, 1e-30);
    CHECK(max(abs(huge - plain)).item() < 1e-6);
}

TEST_CASE("log and exp reach the ends of their types", "[ops][numbers]") {
    const Function l = [](const Tensor&x) { return log(x); }, e = [](const Tensor&x) { return exp(x); };
    const auto both = [&](const Numbers& x, DType dtype) {
        for (const double v : x) {
            const double y = std::log(v);
            check_close(numbers(l(full({3}, v, dtype))), {y, y, y}, dtype == float32 ? 1e-6 : 1e-15);
        }
    };
    both({1e-310, 5e-324, 2.2e-308, 2.3e-308, 1, 1e308}, float64);
    both({0x1p-149, 0x1p-140, 0x1p-126, 1, 0x1p127}, float32);
    check_close(numbers(log(from_vector(Numbers{0, -1e-310, -0.0, inf, NaN}))), {-inf, NaN, -inf, inf, NaN}, 0);
    check_close(numbers(exp(from_vector(Numbers{709.7, 709.5, -708.3, -inf, inf, NaN, 710, -746}))),
                {std::exp(709.7), std::exp(709.5), std::exp(-708.3), 0, inf, NaN, inf, 0}, 1e-14);
    CHECK(exp(from_vector(Numbers{-720})).item() == Approx(std::exp(-720.0)).epsilon(1e-9));
    check_close(numbers(exp(tensor({88.5, 88.7, 88.8, -87.2, -110}))),
                {std::exp(static_cast<double>(88.5F)), std::exp(static_cast<double>(88.7F)), inf,
                 std::exp(static_cast<double>(-87.2F)), 0},
                1e-6);
    CHECK(exp(tensor({-90.0})).item() == Approx(std::exp(-90.0)).epsilon(1e-5));
}

TEST_CASE("huber's slope is ±delta at an infinite difference", "[ops][numbers]") {
    const auto loss = [](const Tensor& x) { return huber_loss(x, zeros_like(x), 2); };
    for (const DType dtype : {float32, float64}) {
        check_values(loss, {inf}, dtype, {inf}, {2});
        check_values(loss, {-inf}, dtype, {inf}, {-2});
        check_values(loss, {3}, dtype, {4}, {2});
        check_values(loss, {2}, dtype, {2}, {2});
        check_values(loss, {-1}, dtype, {0.5}, {-1});
        check_values(loss, {NaN}, dtype, {NaN}, {NaN});
    }
    CHECK(curvature(loss, {1}) == Numbers{1});
    CHECK(curvature(loss, {3}) == Numbers{0});
}

TEST_CASE("elu and expm1 have slopes of e^x", "[ops][numbers]") {
    for (const Function& f : {Function([](const Tensor& x) { return elu(x); }),
                              Function([](const Tensor& x) { return expm1(x); })}) {
        check_values(f, {-40, -14.8}, float64, {-1, std::expm1(-14.8)}, {std::exp(-40.0), std::exp(-14.8)});
        const double x = static_cast<double>(-14.8F);
        check_values(f, {-40, x}, float32, {-1, -1}, {std::exp(-40.0), std::exp(x)});
        check_close(curvature(f, {-40}), {std::exp(-40.0)}, 1e-13);
    }
}

TEST_CASE("clamp gives NaN no gradient", "[ops][numbers]") {
    check_values([](const Tensor& x) { return clamp(x, 0, 1); }, {NaN, 0, 1, 2}, float64, {NaN, 0, 1, 1},
                 {0, 1, 1, 0});
}

TEST_CASE("pow with a tensor p = 0 has a slope of 0 in x, wherever x is", "[ops][numbers]") {
    const Tensor p = zeros({5}, float64).requires_grad_();
    check_values([&](const Tensor& x) { return pow(x, p.detach()); }, {1e-310, NaN, 0, inf, -2}, float64,
                 {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0});
    const Tensor x = from_vector(Numbers{1, 2, 3, 4, 5}).requires_grad_();
    const Tensor dx = grad({sum(pow(x, p))}, {x}, {}, {.create_graph = true})[0];
    check_close(numbers(grad({sum(dx)}, {p})[0]), {1, 1. / 2, 1. / 3, 1. / 4, 1. / 5}, 1e-13);  // ∂²xᵖ/∂x∂p
}

TEST_CASE("beside infinities and NaN: maximum, logsumexp, var, max_pool2d", "[ops][numbers]") {
    const Tensor a = from_vector(Numbers{NaN, 1, 2}).requires_grad_(),
                 b = from_vector(Numbers{1, NaN, 2}).requires_grad_();
    for (const auto& f : {Function([&](const Tensor& a) { return maximum(a, b); }),
                          Function([&](const Tensor& a) { return minimum(a, b); })}) {
        const std::vector<Tensor> d = grad({sum(f(a))}, {a, b});
        CHECK(numbers(d[0]) == Numbers{1, 1, 0.5});
        CHECK(numbers(d[1]) == Numbers{1, 1, 0.5});
    }
    check_values([](const Tensor& x) { return logsumexp(x); }, {inf, 1000, 0}, float64, {inf}, {NaN, 0, 0});
    check_values([](const Tensor& x) { return var(x, 0, false, 2); }, {1, 2}, float64, {inf}, {-inf, inf});
    const Tensor image = full({1, 1, 2, 2}, -inf).requires_grad_();
    const WindowOptions window{.kernel_height = 2, .kernel_width = 2, .stride = 2, .padding = 1};
    const Tensor y = max_pool2d(image, window);
    CHECK(all(y == -inf));
    CHECK(all(grad({sum(y)}, {image})[0] == 1));
}

TEST_CASE("clip_grad_norm clips finite gradients whose norm leaves float64", "[optim][numbers]") {
    const auto clipped = [](const Numbers& gradient, double max_norm) {
        const Tensor w = zeros({static_cast<std::int64_t>(gradient.size())}, float64).requires_grad_();
        sum(w * from_vector(gradient)).backward();
        const double norm = optim::clip_grad_norm({w}, max_norm);
        Numbers result = numbers(w.grad());
        result.push_back(norm);
        return result;
    };
    check_close(clipped({3e200, -4e200}, 1), {0.6, -0.8, 5e200}, 1e-14);
    check_close(clipped({1.5e308, 1.5e308}, 1), {std::sqrt(0.5), std::sqrt(0.5), inf}, 1e-14);
    check_close(clipped({3e-200, 4e-200}, 1), {3e-200, 4e-200, 5e-200}, 1e-14);
    check_close(clipped({0, 0}, 1), {0, 0, 0}, 0);
    check_close(clipped({inf, 1}, 1), {inf, 1, inf}, 0);
    check_close(clipped({NaN, 1}, 1), {NaN, 1, NaN}, 0);
}
