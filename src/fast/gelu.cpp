// gelu as one formula, and its gradient as another.
#include <numbers>

#include "core/elementwise.h"
#include "core/slots.h"
#include "fast/simd.h"

namespace weft::kernels::fast {
namespace {

constexpr double gelu_factor = 2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;  // 2√(2/π)

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
        return x * (T(1) / (T(1) + xt::exp(T(-gelu_factor) * (x + T(0.044715) * x * x * x))));
    });
}
void gelu_tanh_backward(const Array& dx, const Array& x, const Array& dy) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        constexpr T factor = T(gelu_factor);
        const auto rule = [](const B& x, const B& dy) {
            // Beyond ±50 g is exactly 0 or 1, and x³ might overflow.
            const B t = xsimd::min(B(T(50)), xsimd::max(B(T(-50)), x));
            const B g = B(T(1)) / (B(T(1)) + xsimd::exp(B(-factor) * (t + B(T(0.044715)) * t * t * t)));
            const B du = B(factor) * (B(T(1)) + B(T(3 * 0.044715)) * t * t);
            return dy * (g + x * g * (B(T(1)) - g) * du);
        };
        for_runs_of<T, T, T>([&](std::int64_t n, T* d, const T* p, const T* q) { simd_run(rule, n, d, p, q); },
                             dx, x, dy);
    });
}

std::optional<FusedResult> gelu_at_once(const Inputs& in, const Gelu& kind) {
    return FusedResult{kind == Gelu::exact ? gelu_exact(in[0]) : gelu_tanh(in[0])};
}

Grads gelu_rule(const Saved& saved, const Tensor& dy, const Gelu& kind) {
    if (kind == Gelu::exact) return Grads{gelu_exact_backward(saved[0], dy)};
    const Tensor dx = empty(dy.shape(), dy.dtype());
    gelu_tanh_backward(dx.array(), saved[0].array(), dy.array());
    return Grads{dx};
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<Gelu> gelu_kernel{kernels::fast::gelu_at_once, kernels::fast::gelu_rule};
}  // namespace weft
