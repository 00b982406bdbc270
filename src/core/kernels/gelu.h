// The tanh approximation of GELU, with one exponential in place of a tanh.
#pragma once

#include <numbers>
#include <xsimd/xsimd.hpp>

namespace weft::kernels {

// 2·√(2/π): the factor of 2u.
template <class T>
constexpr T gelu_scale = T(2 * std::numbers::inv_sqrtpi * std::numbers::sqrt2);

// ½(1 + tanh u) = σ(2u) with u = √(2/π)(x + 0.044715 x³) (Hendrycks and Gimpel, "Gaussian error linear units",
// 2016, §2): gelu(x) = x · gelu_gate(x).
template <class T>
xsimd::batch<T> gelu_gate(const xsimd::batch<T>& x) {
    using B = xsimd::batch<T>;
    return B(T(1)) / (B(T(1)) + xsimd::exp(B(-gelu_scale<T>) * (x + B(T(0.044715)) * x * x * x)));
}

}  // namespace weft::kernels
