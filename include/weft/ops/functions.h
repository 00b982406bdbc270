// Functions of each element, which is floating where nothing else is said.
#pragma once

#include <optional>

#include "weft/core/tensor.h"

namespace weft {

Tensor exp2(const Tensor& x);   // 2ˣ
Tensor log2(const Tensor& x);   // log₂ x, exact for powers of 2; gradient at 0 is inf
Tensor log10(const Tensor& x);  // log₁₀ x; gradient at 0 is inf
Tensor rsqrt(const Tensor& x);  // 1 / √x
Tensor sin(const Tensor& x);    // x in radians
// The cosine of x in radians.
//
//     const Tensor y = cos(tensor({0.0}));  // [1]
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);    // sin x / cos x
Tensor sinh(const Tensor& x);   // ½(eˣ − e⁻ˣ), exact for small x
Tensor cosh(const Tensor& x);   // ½(eˣ + e⁻ˣ)
Tensor erf(const Tensor& x);    // 2/√π ∫₀ˣ e^(−t²) dt
Tensor log1p(const Tensor& x);  // ln(1 + x), exact for small x; gradient at −1 is inf
Tensor expm1(const Tensor& x);  // eˣ − 1, exact for small x
Tensor floor(const Tensor& x);  // ⌊x⌋; gradient 0
Tensor round(const Tensor& x);  // the nearest integer, halves to the even one, as in PyTorch; gradient 0

// The formula of gelu.
enum class Gelu {
    exact,  // x · ½(1 + erf(x/√2))
    tanh    // ½x(1 + tanh(√(2/π)(x + 0.044715x³))), an approximation
};
// x·Φ(x), Φ the normal distribution function (Hendrycks and Gimpel, "Gaussian error linear units", 2016, §2).
Tensor gelu(const Tensor& x, Gelu kind = Gelu::exact);
// min(max(x, low), high); gradient 1 where low ≤ x ≤ high, else 0. A bound that is left out bounds nothing.
// ValueError if low > high, and without a bound.
//
//     const Tensor x = tensor({-1.0, 2, 7});
//     const Tensor both = clamp(x, 0, 5), below = clamp(x, 0), above = clamp(x, {}, 5);
//     // both is [0, 2, 5], below is [0, 2, 7], above is [-1, 2, 5]
Tensor clamp(const Tensor& x, std::optional<double> low = {}, std::optional<double> high = {});

// Activations, which Python has in weft.nn.functional, as PyTorch has them, and not as methods.

Tensor silu(const Tensor& x);      // x · σ(x)  (Elfwing et al., "Sigmoid-weighted linear units", 2018, eq. 3)
Tensor softplus(const Tensor& x);  // ln(1 + eˣ), without overflow
Tensor logsigmoid(const Tensor& x);  // ln σ(x) = −ln(1 + e⁻ˣ), without overflow
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);  // x where x > 0, else negative_slope · x
Tensor elu(const Tensor& x, double alpha = 1);                     // x where x > 0, else alpha · (eˣ − 1)

// Of two tensors, whose types are promoted as by operator+.

// xᵖ elementwise. pow(0, 0) = 1; a negative x with a fractional p gives NaN, as std::pow. Of two of int64 it
// wraps on overflow; ValueError if p is negative there. ∂/∂x = p·xᵖ⁻¹, which is 0 for p = 0; ∂/∂p = xᵖ·log x,
// taken as 0 where x = 0 and p ≥ 0.
Tensor pow(const Tensor& x, double p);
Tensor pow(const Tensor& x, const Tensor& p);
// The larger of a and b, or NaN if either is. Equal, each gets half of the gradient; beside NaN, the whole.
Tensor maximum(const Tensor& a, const Tensor& b);
// The smaller of a and b; otherwise as maximum.
//
//     const Tensor y = minimum(tensor({1.0, 5}), tensor({4.0, 2}));  // [1, 2]
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, double b);  // the larger of a and a number, elementwise
// The smaller of a and a number, elementwise.
//
//     const Tensor y = minimum(tensor({1.0, 5}), 3.0);  // [1, 3]
Tensor minimum(const Tensor& a, double b);

Tensor isnan(const Tensor& x);  // bool: x is NaN
Tensor isinf(const Tensor& x);  // bool: x is ∞ or −∞
// bool: |a − b| ≤ atol + rtol · |b|; equal infinities are close. Integers and bools must be equal.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
// Whether isclose is true everywhere.
[[nodiscard]] bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                            bool equal_nan = false);
// bool: whether every element over the axes is true. DTypeError unless x is bool.
Tensor all(const Tensor& x, const Axes& axes, KeepDim keepdim = false);
// bool: whether some element over the axes is true. DTypeError unless x is bool.
Tensor any(const Tensor& x, const Axes& axes, KeepDim keepdim = false);

}  // namespace weft
