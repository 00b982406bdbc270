// Sums and means over axes, and softmax along one.
#pragma once

#include "weft/core/tensor.h"

namespace weft {

// Σx over `axes`: one axis, several, or all if none is given. Reduced axes are dropped, or have size 1 with
// keepdim. 0 over an empty axis. A bool tensor is counted: int64. IndexError if an axis is named twice, here
// and below.
//
//     const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
//     const Tensor total = sum(x);              // (): 21
//     const Tensor columns = sum(x, 0);         // (3,): [5, 7, 9]
//     const Tensor rows = mean(x, 1, keepdim);  // (2, 1): [[2], [5]]
Tensor sum(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false);
// Σx / n; NaN over an empty axis. Of a bool tensor, the share that is true: float32.
Tensor mean(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false);

// e^(x_i) / Σ_j e^(x_j) along the axis, computed without overflow by subtracting the maximum first; of x's
// shape. A fully masked row, all −inf, gives zeros with gradient 0.
//
//     const Tensor p = softmax(tensor({0.0, std::log(3)}), -1);  // [0.25, 0.75]
Tensor softmax(const Tensor& x, int axis);
Tensor softmax(const Tensor& x) = delete;  // name the axis: softmax(x, -1)
// x_i − ln Σ_j e^(x_j) along the axis; of x's shape. A row of −inf gives −inf with gradient 0.
Tensor log_softmax(const Tensor& x, int axis);
// The transpose of broadcast_to: sums x over the axes that broadcasting from `shape` to x's shape stretches.
// ShapeError if `shape` does not broadcast to x's. A gradient rule uses it to undo broadcasting:
//
//     const Tensor dy = ones({4, 3});
//     const Tensor db = sum_to(dy, {3});  // (4, 3) → (3,): [4, 4, 4]
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace weft
