#include "weft/ops/functions.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "core/common.h"
#include "ops/common.h"

namespace weft {

namespace {

// Records y, which is constant between its steps:  dx = 0
Tensor record_steps(const Tensor& y, const Tensor& x) {
    return record_symmetric(y, {x}, {}, [](const Saved&, const Tensor& dy) { return Grads{zeros_like(dy)}; });
}

// xᵖ of whole numbers, which wraps as multiplication does.
std::int64_t whole_power(std::int64_t x, std::int64_t p) {
    std::uint64_t y = 1, square = static_cast<std::uint64_t>(x);
    for (; p > 0; p >>= 1, square *= square)
        if (p & 1) y *= square;
    return static_cast<std::int64_t>(y);
}

// By element: xsimd's pow is wrong at 0 and at infinity.
Tensor power(const Tensor& x, const Tensor& p) {
    if (x.dtype() == int64 && p.dtype() == int64) {
        if (any(p < 0))
            throw ValueError(
                "pow: int64 has no fractions for a negative exponent; convert the base with to(float64)");
        return formula<std::int64_t, std::int64_t, std::int64_t>(
            int64, by_element([](const auto& x, const auto& p) {
                return xt::make_lambda_xfunction(whole_power, x, p);
            }),
            x, p);
    }
    return elementwise(x, p, by_element([](const auto& x, const auto& p) { return xt::pow(x, p); }));
}

// y = better(a, b) ? a : b; where an operand is NaN, so is y. Where a and b are equal, each gets half of dy;
// beside NaN, where neither is the better, each gets all of it, as in PyTorch.
template <class Better>
Tensor choice(const Tensor& a, const Tensor& b, const Better& better) {
    if (!are_one_type(a, b))
        return in_one_type(a, b, [&](const Tensor& x, const Tensor& y) { return choice(x, y, better); });
    if (a.dtype() == int64) return where(better(a, b), a, b);
    Tensor y = elementwise(
        a, b, [&](const auto& a, const auto& b) { return xt::where(better(a, b) || xt::isnan(a), a, b); });
    return record_symmetric(y, {a, b}, {a, b}, [better](const Saved& saved, const Tensor& dy) {
        const Tensor &a = saved[0], &b = saved[1];
        const Tensor shared = where(a == b, dy * 0.5, dy);
        return Grads{sum_to(masked_fill(shared, better(b, a), 0), a.shape()),
                     sum_to(masked_fill(shared, better(a, b), 0), b.shape())};
    });
}

Tensor small_gelu(const Inputs& in, const Gelu& kind) {
    const Tensor& x = in[0];
    if (kind == Gelu::exact) return x * 0.5 * (1 + erf(x / std::numbers::sqrt2));
    const Tensor t = clamp(x, -50, 50);  // beyond, tanh is ±1, and the cube might overflow
    return 0.5 * x * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (t + 0.044715 * (t * t * t))));
}

}  // namespace

Tensor exp2(const Tensor& x) {
    const Op op("exp2");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::exp2(x); }));
    // y = 2ˣ:  dx = dy·y·ln 2
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        return Grads{dy * (saved[0] * std::numbers::ln2)};
    });
}

Tensor log2(const Tensor& x) {
    const Op op("log2");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::log2(x); }));
    // y = log₂ x:  dx = dy/(x·ln 2)
    return record_symmetric(y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        return Grads{dy / (saved[0] * std::numbers::ln2)};
    });
}

Tensor log10(const Tensor& x) {
    const Op op("log10");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::log10(x); }));
    // y = log₁₀ x:  dx = dy/(x·ln 10)
    return record_symmetric(y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        return Grads{dy / (saved[0] * std::numbers::ln10)};
    });
}

Tensor tan(const Tensor& x) {
    const Op op("tan");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::tan(x); }));
    // y = tan x:  dx = dy·(1 + y²)
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& y = saved[0];
        return Grads{dy * (1 + y * y)};
    });
}

Tensor sin(const Tensor& x) {
    const Op op("sin");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::sin(x); }));
    // y = sin x:  dx = dy·cos x
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * cos(saved[0])}; });
}

Tensor cos(const Tensor& x) {
    const Op op("cos");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::cos(x); }));
    // y = cos x:  dx = −dy·sin x
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{-(dy * sin(saved[0]))}; });
}

Tensor sinh(const Tensor& x) {
    const Op op("sinh");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::sinh(x); }));
    // y = sinh x:  dx = dy·cosh x
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * cosh(saved[0])}; });
}

Tensor cosh(const Tensor& x) {
    const Op op("cosh");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::cosh(x); }));
    // y = cosh x:  dx = dy·sinh x
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * sinh(saved[0])}; });
}

Tensor erf(const Tensor& x) {
    const Op op("erf");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::erf(x); }));
    // y = erf x:  dx = dy·2/√π·e^(−x²)
    return record_symmetric(y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{dy * (2 * std::numbers::inv_sqrtpi * exp(-(x * x)))};
    });
}

Tensor log1p(const Tensor& x) {
    const Op op("log1p");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::log1p(x); }));
    // y = ln(1 + x):  dx = dy/(1 + x)
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy / (1 + saved[0])}; });
}

Tensor expm1(const Tensor& x) {
    const Op op("expm1");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::expm1(x); }));
    // y = eˣ − 1:  dx = dy·eˣ, and not dy·(y + 1), which is 0 where y rounds to −1
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * exp(saved[0])}; });
}

Tensor floor(const Tensor& x) {
    const Op op("floor");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::floor(x); }));
    return record_steps(y, x);
}

Tensor round(const Tensor& x) {
    const Op op("round");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::nearbyint(x); }));
    return record_steps(y, x);
}

Tensor clamp(const Tensor& x, std::optional<double> lowest, std::optional<double> highest) {
    const Op op("clamp");
    check_floating(x);
    if (!lowest && !highest) throw ValueError("clamp: no bound; give a lower one, an upper one, or both");
    const double low = lowest.value_or(-INFINITY), high = highest.value_or(INFINITY);
    if (!(low <= high))
        throw ValueError("clamp: low ", low, " is above high ", high, ", or one of them is NaN");
    Tensor y = elementwise(x, [low, high](const auto& x) {
        using T = Value<decltype(x)>;
        return xt::where(x < T(low), T(low), xt::where(x > T(high), T(high), x));
    });
    // y = min(max(x, low), high):  dx = dy where low ≤ x ≤ high, else 0
    return record_symmetric(y, {x}, {x}, [=](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{where(x >= low && x <= high, dy, scalar_like(dy, 0))};
    });
}

Tensor rsqrt(const Tensor& x) {
    const Op op("rsqrt", Op::of_others);
    check_floating(x);
    return 1 / sqrt(x);
}

Tensor silu(const Tensor& x) {
    const Op op("silu", Op::of_others);
    check_floating(x);
    return x * sigmoid(x);
}

Tensor softplus(const Tensor& x) {
    const Op op("softplus");
    check_floating(x);
    const Tensor v = x.detach();
    const Tensor y = relu(v) + log1p(exp(-abs(v)));
    // y = ln(1 + eˣ):  dx = dy·σ(x)
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * sigmoid(saved[0])}; });
}

Tensor logsigmoid(const Tensor& x) {
    const Op op("logsigmoid");
    check_floating(x);
    const Tensor v = x.detach();
    const Tensor y = minimum(v, 0) - log1p(exp(-abs(v)));
    // y = ln σ(x):  dx = dy·(1 − σ(x)) = dy·σ(−x)
    return record_symmetric(
        y, {x}, {x}, [](const Saved& saved, const Tensor& dy) { return Grads{dy * sigmoid(-saved[0])}; });
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
    const Op op("leaky_relu", Op::of_others);
    check_floating(x);
    return where(x > 0, x, x * negative_slope);
}

Tensor elu(const Tensor& x, double alpha) {
    const Op op("elu", Op::of_others);
    check_floating(x);
    const Tensor is_positive = x > 0;
    return where(is_positive, x, alpha * expm1(masked_fill(x, is_positive, 0)));
}

Tensor gelu(const Tensor& x, Gelu kind) {
    const Op op("gelu", Op::of_others);
    check_floating(x);
    return run("gelu", {x}, kind, small_gelu, gelu_kernel);
}

Tensor pow(const Tensor& x, double p) {
    const Op op("pow");
    check_arithmetic(x);
    Tensor y = power(x, scalar_beside(x, p));
    // y = xᵖ:  dx = dy·p·xᵖ⁻¹, which is 0 for p = 0 even at x = 0
    return record_symmetric(y, {x}, {x}, [p](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{p == 0 ? zeros_like(x) : dy * (p * pow(x, p - 1))};
    });
}

Tensor pow(const Tensor& x, const Tensor& p) {
    const Op op("pow");
    if (!are_one_type(x, p))
        return in_one_type(x, p, [](const Tensor& x, const Tensor& p) { return pow(x, p); });
    Tensor y = power(x, p);
    // y = xᵖ:  dx = dy·p·xᵖ⁻¹,  dp = dy·y·ln x, where 0·ln 0 is taken as 0
    return record_symmetric(y, {x, p}, {x, p, y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor &x = saved[0], &p = saved[1], &y = saved[2];
        Grads grads(2);
        if (saved.needs_input_grad(0)) {
            // At p = 0 the slope is 0. It is filled in only where x⁻¹ leaves the type (x = 0, NaN, or too small
            // to have a reciprocal): elsewhere it has a derivative with respect to p. There x is 1 before the
            // power, too, whose infinite slope would make the next derivative 0·∞.
            const Tensor outside = p == 0 && !isfinite(1 / x.detach());
            const Tensor base = masked_fill(broadcast_to(x, y.shape()), outside, 1);
            const Tensor slope = masked_fill(p * pow(base, p - 1.0), outside, 0);
            grads[0] = sum_to(dy * slope, x.shape());
        }
        if (saved.needs_input_grad(1)) {
            // The 1 is put in before the logarithm: 0 afterwards would leave an infinite slope in between,
            // and the derivative of this would be 0·∞.
            const Tensor vanishes = broadcast_to(x == 0 && p >= 0, y.shape());
            const Tensor base = masked_fill(broadcast_to(x, y.shape()), vanishes, 1);
            grads[1] = sum_to(dy * (y * log(base)), p.shape());
        }
        return grads;
    });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
    const Op op("maximum");
    return choice(a, b, std::greater<>());
}

Tensor minimum(const Tensor& a, const Tensor& b) {
    const Op op("minimum");
    return choice(a, b, std::less<>());
}

Tensor maximum(const Tensor& a, double b) {
    const Op op("maximum", Op::of_others);
    return maximum(a, scalar_beside(a, b));
}

Tensor minimum(const Tensor& a, double b) {
    const Op op("minimum", Op::of_others);
    return minimum(a, scalar_beside(a, b));
}

Tensor isnan(const Tensor& x) { return is_floating_point(x.dtype()) ? x != x : zeros(x.shape(), boolean); }

Tensor isinf(const Tensor& x) { return !isfinite(x) && !isnan(x); }

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    const Op op("isclose", Op::of_others);
    check_same_dtype(a, b);
    if (!is_floating_point(a.dtype())) return a == b;
    // Infinities are close only to themselves: their difference is NaN or infinite.
    const Tensor x = widened(a.detach()), y = widened(b.detach());
    const Tensor is_close = x == y || (isfinite(y) && abs(x - y) <= atol + rtol * abs(y));
    return equal_nan ? is_close || (isnan(x) && isnan(y)) : is_close;
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    const Op op("allclose", Op::of_others);
    return all(isclose(a, b, rtol, atol, equal_nan));
}

Tensor all(const Tensor& x, const Axes& axes, KeepDim keepdim) {
    const Op op("all", Op::of_others);
    check_dtype("x", x, boolean);
    return !any(!x, axes, keepdim);
}

Tensor any(const Tensor& x, const Axes& axes, KeepDim keepdim) {
    const Op op("any", Op::of_others);
    check_dtype("x", x, boolean);
    return sum(x.to(int64), axes, keepdim) != 0;
}

}  // namespace weft
