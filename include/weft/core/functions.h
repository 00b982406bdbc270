// Functions of each element of one tensor, which is floating where nothing else is said.
#pragma once

#include <optional>

#include "weft/core/tensor.h"

namespace weft {

Tensor exp(const Tensor& x);      // eˣ; inf from 88.73 (float32) or 709.79 (float64) on
Tensor log(const Tensor& x);      // ln x; gradient at 0 is inf
Tensor exp2(const Tensor& x);     // 2ˣ
Tensor log2(const Tensor& x);     // log₂ x, exact for powers of 2; gradient at 0 is inf
Tensor log10(const Tensor& x);    // log₁₀ x; gradient at 0 is inf
Tensor sqrt(const Tensor& x);     // √x; gradient at 0 is inf
Tensor rsqrt(const Tensor& x);    // 1 / √x
Tensor tanh(const Tensor& x);     // (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), without overflow
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e⁻ˣ), without overflow
Tensor relu(const Tensor& x);     // max(x, 0); gradient at 0 is 0
Tensor abs(const Tensor& x);      // |x|, also of int64; gradient at 0 is 0
Tensor sign(const Tensor& x);     // −1, 0 or 1, NaN of NaN; gradient 0
Tensor sin(const Tensor& x);      // x in radians
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

}  // namespace weft
