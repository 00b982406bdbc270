// Functions of each element of one tensor, which is floating where nothing else is said.
#pragma once

#include <optional>

#include "weft/core/tensor.h"

namespace weft {

Tensor exp(const Tensor& x);      // eˣ; inf from 88.73 (float32) or 709.79 (float64) on
Tensor log(const Tensor& x);      // ln x; gradient at 0 is inf
Tensor sqrt(const Tensor& x);     // √x; gradient at 0 is inf
Tensor tanh(const Tensor& x);     // (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), without overflow
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e⁻ˣ), without overflow
Tensor relu(const Tensor& x);     // max(x, 0); gradient at 0 is 0
Tensor abs(const Tensor& x);      // |x|, also of int64; gradient at 0 is 0
Tensor sign(const Tensor& x);     // −1, 0 or 1, NaN of NaN; gradient 0

}  // namespace weft
