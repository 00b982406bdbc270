// x times the normal distribution function, and its approximation.
#include <cmath>
#include <numbers>

#include "kernels/interface.h"
#include "ops/common.h"
#include "ops/elementwise.h"
#include "weft/ops/functions.h"

namespace weft {

namespace {

Tensor gelu_reference(const Tensor& x, Gelu kind) {
    if (kind == Gelu::exact) return x * 0.5 * (1 + erf(x / std::numbers::sqrt2));
    return 0.5 * x * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * x * x))));
}

// y = x·Φ(x):  dx = dy · (Φ(x) + x·φ(x))
Tensor gelu_exact(const Tensor& x) {
    const Op op("gelu");
    return elementwise(x, by_element([](const auto& x) {
                           using T = Value<decltype(x)>;
                           return x * T(0.5) * (T(1) + xt::erf(x * T(std::numbers::sqrt2 / 2)));
                       }));
}
Tensor gelu_exact_backward(const Tensor& x, const Tensor& dy) {
    const Op op("gelu");
    return elementwise(
        x, dy, by_element([](const auto& x, const auto& dy) {
            using T = Value<decltype(x)>;
            return dy * (T(0.5) * (T(1) + xt::erf(x * T(std::numbers::sqrt2 / 2))) +
                         x * T(std::numbers::inv_sqrtpi / std::numbers::sqrt2) * xt::exp(T(-0.5) * x * x));
        }));
}

// y = x·g(x) with g = ½(1 + tanh u) = σ(2u), u = √(2/π)(x + 0.044715 x³), which needs one exponential instead
// of a tanh (Hendrycks and Gimpel, "Gaussian error linear units", 2016, §2):  dx = dy · (g + x·g·(1 − g)·2u′)
Tensor gelu_tanh(const Tensor& x) {
    const Op op("gelu");
    return elementwise(x, [](const auto& x) {
        using T = Value<decltype(x)>;
        return x * (T(1) / (T(1) + xt::exp(T(-kernels::gelu_factor) * (x + T(0.044715) * x * x * x))));
    });
}
Tensor gelu_tanh_backward(const Tensor& x, const Tensor& dy) {
    const Tensor dx = empty(x.shape(), x.dtype());
    kernels::active().gelu_tanh_backward(dx.array(), x.array(), dy.array());
    return dx;
}

}  // namespace

Tensor gelu(const Tensor& x, Gelu kind) {
    const Op op("gelu", Op::of_others);
    check_floating(x);
    const bool is_exact = kind == Gelu::exact;
    return fused(
        "gelu", {x}, [kind](const std::vector<Tensor>& in) { return gelu_reference(in[0], kind); },
        [&] { return FusedResult{is_exact ? gelu_exact(x) : gelu_tanh(x)}; },
        [is_exact](const Saved& saved, const Tensor& dy) {
            return Grads{is_exact ? gelu_exact_backward(saved[0], dy) : gelu_tanh_backward(saved[0], dy)};
        });
}

}  // namespace weft
