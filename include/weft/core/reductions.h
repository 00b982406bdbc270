// Sums, means and extremes over axes, and what runs along one.
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
// Σ(x − mean)² / (n − correction); the default is PyTorch's. NaN or infinity if n ≤ correction.
Tensor var(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false, int correction = 1);
// ln Σeˣ, computed without overflow by subtracting the maximum first; −inf with gradient 0 over an empty axis
// or one of −inf only. DTypeError unless floating.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false);
// ln(eᵃ + eᵇ), elementwise, without overflow; NaN for one, and equal infinities are their own, with a's
// gradient.
//
//     const Tensor y = logaddexp(tensor({1000.0}), tensor({1000.0}));  // 1000 + ln 2 = 1000.69315
Tensor logaddexp(const Tensor& a, const Tensor& b);

// What max and min along an axis return.
struct [[nodiscard]] ValuesIndices {
    Tensor values, indices;  // both have the same shape; the indices are int64
};
// The largest value along an axis, and the index of its first occurrence, which alone gets the gradient. NaN
// counts as the largest. ShapeError over an empty axis.
//
//     const auto [values, indices] = max(tensor({{3.0, 1}, {2, 5}}), 1);  // [3, 5] and [0, 1]
ValuesIndices max(const Tensor& x, int axis, KeepDim keepdim = false);
// The smallest value along an axis; NaN counts as it. Otherwise as max.
//
//     const auto [values, indices] = min(tensor({{3.0, 1}, {2, 5}}), 1);  // [1, 2] and [1, 0]
ValuesIndices min(const Tensor& x, int axis, KeepDim keepdim = false);
// The largest of all elements, of shape (); its first occurrence gets the gradient. ShapeError if x is empty.
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);                                        // the smallest of all elements, likewise
Tensor argmax(const Tensor& x, int axis, KeepDim keepdim = false);  // max(x, axis, keepdim).indices

// y_i = Σ_{j ≤ i} x_j along the axis; of x's shape.
Tensor cumsum(const Tensor& x, int axis);

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
// √var, without overflow of squares; where it is 0, so is its gradient. In a file with `using namespace weft`
// write weft::std(x), because std is also a namespace.
Tensor std(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false, int correction = 1);
// (Σ|x|ᵖ)^(1/p) over the axes, the largest |x| for p = ∞; without overflow. A zero vector has a gradient of 0,
// each zero too if p < 1; for p = ∞ the first of equals gets the whole. ValueError unless p > 0.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, KeepDim keepdim = false);
Tensor argmin(const Tensor& x, int axis, KeepDim keepdim = false);  // min(x, axis, keepdim).indices
Tensor argmax(const Tensor& x);                                     // the flat index of the largest element: ()
Tensor argmin(const Tensor& x);                                     // index of the smallest element

}  // namespace weft
