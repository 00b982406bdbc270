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

// f(x) and the gradient of Σ f(x), as backward computes it, with create_graph, and by the plain operations.
void check_values(const Function& f, const Numbers& x, DType dtype, const Numbers& values,
                  const Numbers& slopes) {
    const double tolerance = dtype == float32 ? 1e-6 : 1e-13;
    for (const bool composed : {false, true})
        for (const bool create_graph : {false, true}) {
            INFO(name(dtype) << (composed ? ", composed" : "") << (create_graph ? ", create_graph" : ""));
            const Plain mode(Plain::operations, composed);
            const Tensor leaf = from_vector(x).to(dtype).requires_grad_();
            const Tensor y = f(leaf);
            check_close(numbers(y), values, tolerance);
            const Tensor dx = grad({y}, {leaf}, {ones_like(y)}, {.create_graph = create_graph})[0];
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

TEST_CASE("cumsum keeps what float64 rounds off", "[ops][numbers]") {
    check_values([](const Tensor& x) { return cumsum(x, 0); }, {1e16, 1, 1, -1e16, 1}, float64,
                 {1e16, 1e16, 1e16 + 2, 2, 3}, {5, 4, 3, 2, 1});
    check_close(numbers(cumsum(tensor({1.0, inf, 2, -inf}), 0)), {1, inf, inf, NaN}, 0);
    CHECK(cumsum(tensor({INT64_MAX, std::int64_t{1}}), 0).to_vector<std::int64_t>()[1] == INT64_MIN);
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

TEST_CASE("norm(x, p < 1) fits its type, and is curved where an element is 0", "[ops][numbers]") {
    CHECK(norm(full({4}, 1e-30), 0.01).item() == Approx(std::pow(4.0, 100) * 1e-30).epsilon(1e-4));
    for (const double y : curvature([](const Tensor& x) { return norm(x, 0.5); }, {0, 4}))
        CHECK(std::isfinite(y));
}

TEST_CASE("std and var of the largest numbers, and of too few", "[ops][numbers]") {
    const Function deviation = [](const Tensor& x) { return weft::std(x, 0); };
    check_values(deviation, {3e38, 3e38}, float32, {0}, {0, 0});
    check_values(deviation, {5}, float64, {NaN}, {NaN});
    check_values([](const Tensor& x) { return var(x, 0, false, 2); }, {1, 2}, float64, {inf}, {-inf, inf});
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

TEST_CASE("layer norm of a constant row is the bias, however large", "[ops][numbers]") {
    const auto check_constant = [](double value, std::int64_t C, DType dtype) {
        for (const bool composed : {false, true}) {
            const Plain mode(Plain::operations, composed);
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
}

TEST_CASE("max_pool2d of -inf is -inf beside its padding, and has a gradient", "[ops][numbers]") {
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
