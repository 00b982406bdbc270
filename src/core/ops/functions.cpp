// Elementwise functions of one tensor.
#include <cmath>
#include <numbers>

#include "core/kernels/elementwise.h"
#include "core/ops/common.h"

namespace weft {
namespace {

using kernels::Unary;

Tensor compute(const char* operation, Unary op, const Tensor& x) {
    check_floating(operation, x);
    Array y = make_array(x.shape(), x.dtype());
    kernels::unary(op, y, x.array());
    return Tensor(std::move(y));
}

}  // namespace

Tensor exp(const Tensor& x) {
    Tensor y = compute("exp", Unary::exp, x);
    // y = eˣ:  dx = dy·y
    return record("exp", y, {x}, {y},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * saved[0]}; });
}

Tensor log(const Tensor& x) {
    Tensor y = compute("log", Unary::log, x);
    // y = ln x:  dx = dy/x
    return record("log", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy / saved[0]}; });
}

Tensor sqrt(const Tensor& x) {
    Tensor y = compute("sqrt", Unary::sqrt, x);
    // y = √x:  dx = dy/(2y)
    return record("sqrt", y, {x}, {y},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy / (2 * saved[0])}; });
}

Tensor tanh(const Tensor& x) {
    Tensor y = compute("tanh", Unary::tanh, x);
    // y = tanh x:  dx = dy·(1 − y²)
    return record("tanh", y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& y = saved[0];
        return Grads{dy * (1 - y * y)};
    });
}

Tensor sigmoid(const Tensor& x) {
    Tensor y = compute("sigmoid", Unary::sigmoid, x);
    // y = σ(x):  dx = dy·y·(1 − y)
    return record("sigmoid", y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& y = saved[0];
        return Grads{dy * (y * (1 - y))};
    });
}

Tensor relu(const Tensor& x) {
    Tensor y = compute("relu", Unary::relu, x);
    // y = max(x, 0):  dx = dy where y > 0, else 0
    return record("relu", y, {x}, {y}, [](const Saved& saved, const Tensor& dy) {
        return Grads{masked_fill(dy, saved[0] <= 0, 0)};
    });
}

Tensor abs(const Tensor& x) {
    Tensor y = compute("abs", Unary::abs, x);
    // y = |x|:  dx = dy·sign(x)
    return record("abs", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * sign(saved[0])}; });
}

Tensor sign(const Tensor& x) {
    Tensor y = compute("sign", Unary::sign, x);
    return record("sign", y, {x}, {}, [](const Saved&, const Tensor& dy) { return Grads{zeros_like(dy)}; });
}

Tensor sin(const Tensor& x) {
    Tensor y = compute("sin", Unary::sin, x);
    // y = sin x:  dx = dy·cos x
    return record("sin", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * cos(saved[0])}; });
}

Tensor cos(const Tensor& x) {
    Tensor y = compute("cos", Unary::cos, x);
    // y = cos x:  dx = −dy·sin x
    return record("cos", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{-(dy * sin(saved[0]))}; });
}

Tensor erf(const Tensor& x) {
    Tensor y = compute("erf", Unary::erf, x);
    // y = erf x:  dx = dy·2/√π·e^(−x²)
    return record("erf", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{dy * (2 * std::numbers::inv_sqrtpi * exp(-(x * x)))};
    });
}

namespace {
Tensor gelu_definition(const Tensor& x, Gelu kind) {
    if (kind == Gelu::exact) return x * 0.5 * (1 + erf(x / std::numbers::sqrt2));
    return 0.5 * x * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * x * x))));
}
}  // namespace

Tensor gelu(const Tensor& x, Gelu kind) {
    check_floating("gelu", x);
    if (composed_mode()) return gelu_definition(x, kind);
    Tensor y = compute("gelu", kind == Gelu::exact ? Unary::gelu_exact : Unary::gelu_tanh, x);
    return record("gelu", y, {x}, {x}, [kind](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        if (grad_enabled()) return grads_of_definition([&] { return gelu_definition(x, kind); }, {x}, dy);
        Array dx = make_array(x.shape(), x.dtype());
        kernels::binary(
            kind == Gelu::exact ? kernels::Binary::gelu_exact_backward : kernels::Binary::gelu_tanh_backward,
            dx, x.array(), dy.array());
        return Grads{Tensor(std::move(dx))};
    });
}

Tensor clamp(const Tensor& x, double low, double high) {
    check_floating("clamp", x);
    if (!(low <= high))
        throw ValueError("clamp: low " + std::to_string(low) + " is above high " + std::to_string(high) +
                         ", or one of them is NaN");
    Array y = make_array(x.shape(), x.dtype());
    kernels::clamp(y, x.array(), low, high);
    // y = min(max(x, low), high):  dx = dy where low ≤ x ≤ high, else 0
    return record("clamp", Tensor(std::move(y)), {x}, {x}, [=](const Saved& saved, const Tensor& dy) {
        const Tensor& x = saved[0];
        return Grads{masked_fill(dy, x < low || x > high, 0)};
    });
}

Tensor dropout(const Tensor& x, double p, Rng& rng, bool training) {
    check_floating("dropout", x);
    if (!(p >= 0 && p < 1))
        throw ValueError("dropout: p = " + std::to_string(p) + " is no probability of dropping; use 0 ≤ p < 1");
    if (!training || p == 0) return unchanged(x);
    Array kept = make_array(x.shape(), x.dtype());
    kernels::fill_dropout(kept, rng.seed(), rng.reserve(static_cast<std::uint64_t>(x.numel())), p);
    return x * Tensor(std::move(kept));
}

}  // namespace weft
