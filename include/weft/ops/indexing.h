// Elements in order.
#pragma once

#include <cstdint>

#include "weft/core/reductions.h"
#include "weft/core/tensor.h"

namespace weft {

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
