// Elements by their indices, and in order. Indices are taken and refused as by gather.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"
#include "weft/ops/reductions.h"

namespace weft {

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
