// Products along an axis.
#pragma once

#include "weft/core/reductions.h"

namespace weft {

// Πx along the axis, or of all elements; 1 if empty. Gradients are right where elements are 0.
Tensor prod(const Tensor& x, int axis, KeepDim keepdim = false);
Tensor prod(const Tensor& x);
Tensor cumprod(const Tensor& x, int axis);  // y_i = Π_{j ≤ i} x_j along the axis

}  // namespace weft
