// Spread, extremes and running totals of axes. Axes are named as those of sum.
#pragma once

#include "weft/core/tensor.h"

namespace weft {

// Σ(x − mean)² / (n − correction); the default is PyTorch's. NaN or infinity if n ≤ correction.
Tensor var(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false, int correction = 1);
// √var, without overflow of squares; where it is 0, so is its gradient. In a file with `using namespace weft`
// write weft::std(x), because std is also a namespace.
Tensor std(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false, int correction = 1);
// (Σ|x|ᵖ)^(1/p) over the axes, the largest |x| for p = ∞; without overflow. A zero vector has a gradient of 0,
// each zero too if p < 1; for p = ∞ the first of equals gets the whole. ValueError unless p > 0.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, KeepDim keepdim = false);
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
Tensor argmin(const Tensor& x, int axis, KeepDim keepdim = false);  // min(x, axis, keepdim).indices
Tensor argmax(const Tensor& x);                                     // the flat index of the largest element: ()
Tensor argmin(const Tensor& x);                                     // index of the smallest element

// y_i = Σ_{j ≤ i} x_j along the axis; of x's shape.
Tensor cumsum(const Tensor& x, int axis);
// Πx along the axis, or of all elements; 1 if empty. Gradients are right where elements are 0.
Tensor prod(const Tensor& x, int axis, KeepDim keepdim = false);
Tensor prod(const Tensor& x);
Tensor cumprod(const Tensor& x, int axis);  // y_i = Π_{j ≤ i} x_j along the axis

}  // namespace weft
