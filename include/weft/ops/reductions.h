// Spread, extremes and running totals of axes. Axes are named as those of sum.
#pragma once

#include <cstdint>

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

// Elements by their indices, and in order. Indices are taken and refused as by gather.

// x with source's elements, or one value, in place of those at `index` along the axis. Of elements of source
// that meet, the last counts, and it alone gets the gradient. Errors as gather and scatter_add.
//
//     const Tensor y = scatter(zeros({2, 3}), 1, tensor({{2}, {0}}), 1);  // [[0, 0, 1], [1, 0, 0]]
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, int axis, const Tensor& index, double value);
// ids (…) int64 → (…, num_classes) int64: 1 at the id, else 0. −1 classes: the largest id + 1. IndexError for
// an id outside 0 … num_classes − 1.
Tensor one_hot(const Tensor& ids, std::int64_t num_classes = -1);
Tensor nonzero(const Tensor& x);  // (n, rank) int64: the indices of the elements that are not 0 (or true)
// (n,): the elements of x where the bool mask is true, row by row; the two broadcast.
Tensor masked_select(const Tensor& x, const Tensor& mask);

// The indices that sort x along the axis; equal elements keep their order, NaN counts as the largest.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);
// x sorted along the axis, and those indices.
//
//     const auto [values, indices] = sort(tensor({3.0, 1, 2}));  // [1, 2, 3] and [1, 2, 0]
ValuesIndices sort(const Tensor& x, int axis = -1, bool descending = false);
// The k largest elements along the axis (or the smallest), in that order. ValueError unless 0 ≤ k ≤ size.
ValuesIndices topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);

// What unique returns.
struct [[nodiscard]] UniqueResult {
    Tensor values;   // (k,): the elements of x in order, each once; those that are NaN, each
    Tensor inverse;  // of x's shape, int64: where each element is among the values
    Tensor counts;   // (k,) int64: how often each occurs
};
// The elements that occur in x, without a gradient.
//
//     const UniqueResult words = unique(tensor({{3, 1}, {3, 3}}));  // words.values [1, 3], words.counts [1, 3]
//     const Tensor again = words.values[words.inverse];             // [[3, 1], [3, 3]]
UniqueResult unique(const Tensor& x);

}  // namespace weft
