// Bad inputs of construction, elementwise operations and broadcasting.
#include <cmath>
#include <functional>
#include <new>

#include "golden/golden.h"
#include "op_table.h"
#include "refusal.h"
#include "weft/check/gradcheck.h"

using namespace weft;

namespace {

constexpr double inf = INFINITY;
using Doubles = std::vector<double>;

Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }

// The gradient of sum(f(x)) for one tensor.
Doubles gradient(const std::function<Tensor(const Tensor&)>& f, const Nested& values) {
    const Tensor x = leaf(values);
    sum(f(x)).backward();
    return x.grad().to_vector<double>();
}

}  // namespace

TEST_CASE("a negative dimension is refused by every way to make a tensor", "[fault]") {
    refuses<ValueError>("zeros: …-3", [] { zeros({2, -3}); });
    refuses<ValueError>("ones: …-3", [] { ones({2, -3}); });
    refuses<ValueError>("full: …-3", [] { full({2, -3}, 1); });
    refuses<ValueError>("empty: …-3", [] { empty({2, -3}); });
    refuses<ValueError>("eye: …-3", [] { eye(-3); });
}

TEST_CASE("a shape whose product overflows is refused before anything is allocated", "[fault]") {
    const std::int64_t large = std::int64_t(1) << 40;
    refuses<ValueError>("zeros: …(1099511627776, 1099511627776)", [&] { zeros({large, large}); });
    refuses<ValueError>("empty: ", [&] {
        empty({large, 4, large, 0});
    });  // whatever the order: 0 hides nothing
    refuses<ValueError>("empty: ", [&] { empty({large << 21}, float64); });  // elements fit, bytes do not
    refuses<ShapeError>("expand", [&] { ones({2}).expand({large, large, 2}); });
    refuses<ShapeError>("reshape", [&] { ones({2}).reshape({large, large}); });
    refuses<ShapeError>("63 bits", [&] { ones({2}).reshape({large, large, -1}); });
    refuses<ValueError>("63 bits", [&] { Shape{large, large}.numel(); });
    refuses<ValueError>("", [&] { ones({1}).expand({large, 1}) + ones({1}).expand({large}); });
}

TEST_CASE("as many values as the shape holds, or an error with both", "[fault]") {
    refuses<ShapeError>("from_vector: 3 values for shape (2, 2), which holds 4", [] {
        from_vector(Doubles{1, 2, 3}, {2, 2});
    });
    refuses<ShapeError>("from_vector: 0 values for shape ()", [] { from_vector(Doubles{}, {}); });
    CHECK(from_vector(Doubles{}, {0, 4}).numel() == 0);
}

TEST_CASE("ragged nested braces are refused", "[fault]") {
    refuses<ShapeError>(
        "tensor: ragged rows: row 0 has shape (2,), row 1 has (1,); all rows must have the same shape", [] {
            tensor({{1.0, 2}, {3}});
        });
    refuses<ShapeError>("ragged", [] { tensor({{1.0, 2}, 3}); });
    refuses<ShapeError>("ragged", [] { tensor({{{1.0}, {2}}, {{3}}}); });
}

TEST_CASE("rank 0 is a valid scalar", "[fault]") {
    const Tensor x = leaf(3);
    CHECK(x.rank() == 0);
    CHECK(x.item() == 3);
    CHECK(x.at({}) == 3);
    CHECK(x.str() == "3.0");
    (x * x + sum(x) + max(x) + mean(x)).backward();
    CHECK(x.grad().item() == 9);
    CHECK((x + ones({2, 2}, float64)).shape() == Shape{2, 2});
    CHECK(stack({x, x}).shape() == Shape{2});
    CHECK(x.unsqueeze(0).shape() == Shape{1});
    refuses<IndexError>("scalar", [&] { return sum(x, 0); });
    CHECK_THROWS_AS(x[0], IndexError);
}

TEST_CASE("a size of 0 is valid, forward and backward", "[fault]") {
    const Tensor x = zeros({2, 0, 3}, float64).requires_grad_();
    CHECK(x.str() == "[]");
    CHECK(exp(x).shape() == Shape{2, 0, 3});
    CHECK(sum(x).item() == 0);
    CHECK(sum(x, 1).to_vector<double>() == Doubles(6, 0));
    CHECK(std::isnan(mean(x).item()));
    CHECK(softmax(x, -1).numel() == 0);
    CHECK(softmax(x, 1).numel() == 0);
    CHECK(cumsum(x, 1).shape() == Shape{2, 0, 3});
    CHECK(cat({x, ones({2, 1, 3}, float64)}, 1).to_vector<double>() == Doubles(6, 1));
    CHECK(layer_norm(x, ones({3}, float64)).numel() == 0);
    CHECK(linear(x, ones({5, 3}, float64)).shape() == Shape{2, 0, 5});
    CHECK(embedding(ones({4, 2}), zeros({0, 3}, int64)).shape() == Shape{0, 3, 2});
    CHECK(x.transpose(0, 2).contiguous().shape() == Shape{3, 0, 2});
    (sum(exp(x) * x) + sum(max(x, 0).values)).backward();
    CHECK(x.grad().shape() == Shape{2, 0, 3});
}

TEST_CASE("memory that cannot be had is bad_alloc, and the library is usable after it", "[fault]") {
    const Tensor before = ones({3});
    const std::int64_t elements = std::int64_t(1) << 45;  // 128 TiB: more than a process can address
    CHECK_THROWS_AS(zeros({elements}), std::bad_alloc);
    CHECK_THROWS_AS(ones({1}).expand({elements}).contiguous(), std::bad_alloc);
    const Tensor wide = ones({1}).requires_grad_().expand({elements});
    CHECK_THROWS_AS(exp(wide), std::bad_alloc);
    CHECK(sum(before + ones({3})).item() == 6);
    const Tensor x = leaf({2});
    (x * x).backward();
    CHECK(x.grad().item() == 4);
}

TEST_CASE("NaN and infinities are values; check_finite finds the first", "[fault]") {
    const Tensor x = tensor({{1, 2}, {inf, NAN}}, float64);
    CHECK(isfinite(x).to_vector<bool>() == std::vector<bool>{true, true, false, false});
    refuses<ValueError>("the weights…inf…1, 0", [&] { check::check_finite(x, "the weights"); });
    CHECK_NOTHROW(check::check_finite(tensor({1.0, 2}), "fine"));
}

TEST_CASE("an undefined tensor is refused everywhere but in defined()", "[fault]") {
    const Tensor undefined;
    CHECK_FALSE(undefined.defined());
    refuses<GraphError>("tensor: this tensor is undefined", [&] { undefined.shape(); });
    const std::vector<std::function<void()>> uses = {
        [&] { undefined.item(); },
        [&] { undefined.str(); },
        [&] { undefined.dtype(); },
        [&] { undefined.backward(); },
        [&] { return undefined.reshape({1}); },
        [&] { return undefined.clone(); },
        [&] { return undefined.detach(); },
        [&] { undefined.requires_grad(); },
        [&] { return undefined[0]; },
        [&] { return undefined.grad(); },
        [&] { return undefined.to(float64); },
        [&] { undefined.version(); },
        [&] { return undefined.contiguous(); },
        [&] { Tensor(undefined).fill_(0); },
        [&] { ones({1}).add_(undefined); },
        [&] { Tensor(undefined).requires_grad_(); },
        [&] { return Mask::blocked(undefined); },
        [&] { return grad({undefined}, {leaf({1})}); },
    };
    for (std::size_t i = 0; i < uses.size(); ++i) {
        INFO("use " << i);
        refuses<GraphError>("undefined", uses[i]);
    }
    Tensor a = ones({1});
    const Tensor b = std::move(a);
    refuses<GraphError>("moved from", [&] { return a + b; });  // NOLINT: what moving leaves behind
}

TEST_CASE("no operation takes an undefined tensor, but where one is optional", "[fault]") {
    const Golden golden("ops.safetensors");
    for (const OpEntry& op : op_table()) {
        Inputs inputs;
        for (int i = 0; golden.has(op.golden + "/in" + std::to_string(i)); ++i)
            inputs.push_back(golden(op.golden + "/in" + std::to_string(i)));
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto is_last_of = [&](const char* name) {
                return op.declaration.starts_with(name) && i == 2;
            };
            const bool is_optional = is_last_of("linear(") || is_last_of("nll_loss(") ||
                                     is_last_of("cross_entropy(") || is_last_of("conv2d(") ||
                                     (op.declaration.find("_norm(") != std::string::npos && i > 0) ||
                                     op.golden.starts_with("attention.bias");
            if (is_optional && i > 0) continue;
            Inputs damaged = inputs;
            damaged[i] = {};
            INFO(op.declaration << ", sample " << op.golden << ", input " << i);
            refuses<GraphError>("undefined", [&] { op.function(damaged); });
        }
    }
}

TEST_CASE("shapes that do not broadcast are named with the axis", "[fault]") {
    const Tensor a = ones({2, 3}), b = ones({2, 4});
    const std::string shapes = ": (2, 3) and (2, 4) do not broadcast: axis -1 has 3 against 4";
    refuses<ShapeError>("add" + shapes, [&] { a + b; });
    refuses<ShapeError>("subtract" + shapes, [&] { a - b; });
    refuses<ShapeError>("multiply" + shapes, [&] { a* b; });
    refuses<ShapeError>("divide" + shapes, [&] { a / b; });
    refuses<ShapeError>("pow" + shapes, [&] { pow(a, b); });
    refuses<ShapeError>("maximum" + shapes, [&] { maximum(a, b); });
    refuses<ShapeError>("minimum" + shapes, [&] { minimum(a, b); });
    refuses<ShapeError>("where" + shapes, [&] { where(a > 0, a, b); });
    refuses<ShapeError>("masked_fill" + shapes, [&] { masked_fill(a, b > 0, 0); });
    CHECK_THROWS_AS(a < b, ShapeError);
    CHECK_THROWS_AS((a > 0) || (b > 0), ShapeError);
}

TEST_CASE("(3,) + (3, 1) is (3, 3), and gradients sum back exactly", "[fault]") {
    const Tensor a = leaf({1, 2, 3}), b = leaf({{10}, {20}, {30}});
    const Tensor y = a + b;
    CHECK(y.to_vector<double>() == Doubles{11, 12, 13, 21, 22, 23, 31, 32, 33});
    y.backward(arange(0, 9, 1, float64).reshape({3, 3}));
    CHECK(a.grad().to_vector<double>() == Doubles{9, 12, 15});
    CHECK(b.grad().to_vector<double>() == Doubles{3, 12, 21});
    CHECK(b.grad().shape() == Shape{3, 1});
}

TEST_CASE("broadcasting against a size of 0 is empty, with a zero gradient", "[fault]") {
    const Tensor a = ones({2, 1}, float64).requires_grad_(), b = ones({1, 0}, float64).requires_grad_();
    const Tensor y = a * b;
    CHECK(y.shape() == Shape{2, 0});
    sum(y).backward();
    CHECK(a.grad().to_vector<double>() == Doubles{0, 0});
    CHECK(b.grad().shape() == Shape{1, 0});
    CHECK_THROWS_AS(ones({2, 3}) + ones({2, 0}), ShapeError);
}

TEST_CASE("log 0, 1/0 and sqrt 0 have IEEE's values and the documented gradients", "[fault]") {
    CHECK(log(tensor({0.0, -1})).at({0}) == -inf);
    CHECK(std::isnan(log(tensor({0.0, -1})).at({1})));
    CHECK((1 / tensor({0.0, -0.0})).to_vector<float>() == std::vector<float>{INFINITY, -INFINITY});
    CHECK(std::isnan((tensor({0.0}) / tensor({0.0})).item()));
    CHECK(std::isnan(sqrt(tensor({-1.0})).item()));
    CHECK(gradient([](const Tensor& x) { return log(x); }, {0}) == Doubles{inf});
    CHECK(gradient([](const Tensor& x) { return sqrt(x); }, {0}) == Doubles{inf});
    CHECK(gradient([](const Tensor& x) { return 1 / x; }, {0}) == Doubles{-inf});
    CHECK_THROWS_AS(tensor({1}, int64) / tensor({0}, int64), DTypeError);
}

TEST_CASE("pow(0, 0) is 1 and pow(negative, fraction) NaN, with the documented gradients", "[fault]") {
    CHECK(pow(tensor({0.0}), 0).item() == 1);
    CHECK(std::isnan(pow(tensor({-2.0}), 0.5).item()));
    CHECK(pow(tensor({-2.0}), 3).item() == -8);
    CHECK(pow(tensor({0.0}), -1).item() == inf);
    CHECK(gradient([](const Tensor& x) { return pow(x, 0); }, {0, 3}) == Doubles{0, 0});
    CHECK(gradient([](const Tensor& x) { return pow(x, 1); }, {0}) == Doubles{1});
    CHECK(gradient([](const Tensor& x) { return pow(x, 2); }, {0}) == Doubles{0});
    const Tensor x = leaf({0, 0, 2}), p = leaf({0, 2, 3});
    sum(pow(x, p)).backward();
    CHECK(x.grad().to_vector<double>() == Doubles{0, 0, 12});
    CHECK(p.grad().at({0}) == 0);
    CHECK(p.grad().at({1}) == 0);
    CHECK(p.grad().at({2}) == Approx(8 * std::log(2)).epsilon(1e-14));
}

TEST_CASE("relu, abs and sign at 0, and clamp at its ends", "[fault]") {
    CHECK(gradient([](const Tensor& x) { return relu(x); }, {-1, 0, 2}) == Doubles{0, 0, 1});
    CHECK(gradient([](const Tensor& x) { return relu(x); }, {-0.0}) == Doubles{0});
    CHECK(gradient([](const Tensor& x) { return abs(x); }, {-1, 0, 2}) == Doubles{-1, 0, 1});
    CHECK(gradient([](const Tensor& x) { return sign(x); }, {-1, 0, 2}) == Doubles{0, 0, 0});
    CHECK(gradient([](const Tensor& x) { return clamp(x, 0, 1); }, {-1, 0, 0.5, 1, 2}) ==
          Doubles{0, 1, 1, 1, 0});
    CHECK(std::isnan(relu(tensor({NAN})).item()));
    refuses<ValueError>("clamp: low 2", [] { return clamp(ones({1}), 2, 1); });
}

TEST_CASE("exp overflows to inf, which can be detected", "[fault]") {
    const Tensor y = exp(tensor({88.0, 89}));
    CHECK(std::isfinite(y.at({0})));
    CHECK(y.at({1}) == inf);
    CHECK_FALSE(all(isfinite(y)));
    refuses<ValueError>("inf", [&] { check::check_finite(y, "y"); });
    CHECK(exp(tensor({709, 710}, float64)).at({1}) == inf);
    CHECK(exp(tensor({-inf, -1000}, float64)).to_vector<double>() == Doubles{0, 0});
    CHECK(sigmoid(tensor({-1000.0, 1000})).to_vector<float>() == std::vector<float>{0, 1});
    CHECK(tanh(tensor({-1000.0, 1000})).to_vector<float>() == std::vector<float>{-1, 1});
}

TEST_CASE("ties share in maximum, and the first takes all in max", "[fault]") {
    const Tensor a = leaf({1, 5}), b = leaf({1, 2});
    sum(maximum(a, b)).backward();
    CHECK(a.grad().to_vector<double>() == Doubles{0.5, 1});
    CHECK(b.grad().to_vector<double>() == Doubles{0.5, 0});
    CHECK(gradient([](const Tensor& x) { return max(x, 0).values; }, {3, 7, 7, 1}) == Doubles{0, 1, 0, 0});
    CHECK(gradient([](const Tensor& x) { return min(x, 0).values; }, {3, 1, 7, 1}) == Doubles{0, 1, 0, 0});
    CHECK(gradient([](const Tensor& x) { return max(x); }, {{3, 7}, {7, 1}}) == Doubles{0, 1, 0, 0});
    CHECK(max(tensor({{3.0, 7, 7, 1}}), 1).indices.item() == 1);
    CHECK(argmax(tensor({2.0, 2}), 0).item() == 0);
    CHECK(argmax(tensor({1, NAN, 3, NAN}), 0).item() == 1);
    CHECK(std::isnan(min(tensor({1, NAN})).item()));
    CHECK(std::isnan(maximum(tensor({NAN}), tensor({1.0})).item()));
}
