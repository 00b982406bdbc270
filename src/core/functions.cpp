// Functions of one element. Each is its formula, then its gradient rule, which quotes the formula. A formula
// takes x as an xtensor expression, so one text is compiled for float and double, and for one element and a
// vector of them. What the rule needs is the fourth argument of `record` and comes back as `saved`: a rule that
// captured y instead would own the node that owns the rule, and neither would ever be freed.
#include "weft/core/functions.h"

#include <cmath>
#include <numbers>

#include "core/common.h"
#include "core/elementwise.h"
#include "core/kernels.h"
#include "core/run.h"

namespace weft {

namespace {

// Records y, which is constant between its steps:  dx = 0
Tensor record_steps(const Tensor& y, const Tensor& x) {
    return record_symmetric(y, {x}, {}, [](const Saved&, const Tensor& dy) { return Grads{zeros_like(dy)}; });
}

}  // namespace

Tensor exp(const Tensor& x) {
    const Op op("exp");
    check_floating(x);
    const Tensor y = empty(x.shape(), x.dtype());
    kernels::exp(y.array(), x.array());
    // y = eˣ:  dx = dy·y
    return record_symmetric(y, {x}, {y},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * saved[0]}; });
}

Tensor log(const Tensor& x) {
    const Op op("log");
    check_floating(x);
    const Tensor y = empty(x.shape(), x.dtype());
    kernels::log(y.array(), x.array());
    // y = ln x:  dx = dy/x
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy / saved[0]}; });
}

Tensor sqrt(const Tensor& x) {
    const Op op("sqrt");
    Tensor y = elementwise(x, by_element([](const auto& x) { return xt::sqrt(x); }));
    // y = √x:  dx = dy/(2y)
    return record_symmetric(y, {x}, {y},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy / (2 * saved[0])}; });
}

Tensor tanh(const Tensor& x) {
    const Op op("tanh");
    Tensor y = elementwise(x, [](const auto& x) { return xt::tanh(x); });
    // y = tanh x:  dx = dy·(1 − y²)
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& y = saved[0];
        return Grads{dy * (1 - y * y)};
    });
}

Tensor sigmoid(const Tensor& x) {
    const Op op("sigmoid");
    check_floating(x);
    const Tensor y = empty(x.shape(), x.dtype());
    kernels::sigmoid(y.array(), x.array());
    // y = σ(x):  dx = dy·y·(1 − y)
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& y = saved[0];
        return Grads{dy * (y * (1 - y))};
    });
}

Tensor relu(const Tensor& x) {
    const Op op("relu");
    Tensor y = elementwise(x, [](const auto& x) {
        using T = Value<decltype(x)>;
        return xt::where(x <= T(0), T(0), x);
    });
    // y = max(x, 0):  dx = dy where y > 0, else 0
    return record_symmetric(y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        return Grads{masked_fill(dy, saved[0] <= 0, 0)};
    });
}

Tensor abs(const Tensor& x) {
    const Op op("abs");
    if (x.dtype() == int64) return where(x < 0, -x, x);
    Tensor y = elementwise(x, [](const auto& x) { return xt::abs(x); });
    // y = |x|:  dx = dy·sign(x)
    return record_symmetric(y, {x}, {x},
                            [](const Saved& saved, const Tensor& dy) { return Grads{dy * sign(saved[0])}; });
}

Tensor sign(const Tensor& x) {
    const Op op("sign");
    Tensor y = elementwise(x, [](const auto& x) {
        using T = Value<decltype(x)>;
        return xt::where(x > T(0), T(1), xt::where(x < T(0), T(-1), xt::abs(x) * T(0)));  // NaN stays NaN
    });
    return record_steps(y, x);
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

// x times the normal distribution function, and its approximation.
namespace {

Tensor small_gelu(const Inputs& in, const Gelu& kind) {
    const Tensor& x = in[0];
    if (kind == Gelu::exact) return x * 0.5 * (1 + erf(x / std::numbers::sqrt2));
    const Tensor t = clamp(x, -50, 50);  // beyond, tanh is ±1, and the cube might overflow
    return 0.5 * x * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (t + 0.044715 * (t * t * t))));
}

}  // namespace

Tensor gelu(const Tensor& x, Gelu kind) {
    const Op op("gelu", Op::of_others);
    check_floating(x);
    return run("gelu", {x}, kind, small_gelu, gelu_kernel);
}

}  // namespace weft
