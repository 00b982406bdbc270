// The same elements in other shapes, and parts joined.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// The tensors along a new axis. ShapeError for an empty list, or if shapes differ.
//
//     const Tensor pair = stack({ones({2, 3}), zeros({2, 3})});  // (2, 2, 3)
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);
template <std::same_as<Tensor>... More>
Tensor stack(const Tensor&, const Tensor&, const More&...) = delete;  // write stack({a, b}, 0)
Tensor vstack(const std::vector<Tensor>& tensors);  // one above the other; a vector (n,) is a row (1, n)
Tensor hstack(const std::vector<Tensor>& tensors);  // side by side, along axis 1; vectors along axis 0
// Parts of one size along the axis, the last one smaller if needed; or parts of the given sizes, which must sum
// to the axis (ShapeError). ValueError for a size below 1, in a list below 0.
//
//     const std::vector<Tensor> by_size = split(arange(10), 3);   // parts of size 3: 3 + 3 + 3 + 1
//     const std::vector<Tensor> by_count = chunk(arange(10), 3);  // 3 parts: 4 + 4 + 2
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis = 0);
[[nodiscard]] std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis = 0);
// `chunks` parts of size ⌈n / chunks⌉; the last may be smaller or, as in PyTorch, missing. An empty axis
// has as many. ValueError if chunks < 1.
[[nodiscard]] std::vector<Tensor> chunk(const Tensor& x, std::int64_t chunks, int axis = 0);
Tensor flip(const Tensor& x, int axis);                   // in reverse order along the axis
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);  // (…, m, n): x_ij where j − i ≥ diagonal, else 0
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);  // (…, m, n): x_ij where j − i ≤ diagonal, else 0

// Merges the axes first … last.
//
//     const Tensor y = flatten(ones({2, 3, 4}), 1);  // (2, 12)
Tensor flatten(const Tensor& x, int first = 0, int last = -1);
Tensor movedim(const Tensor& x, int from, int to);   // moves one axis, keeps the order of the others
Tensor repeat(const Tensor& x, const Shape& times);  // x, times[i] times along axis i, as in PyTorch
// Each element along the axis `repeats` times, or repeats[i] times the i-th: repeats (n,) int64. Without an
// axis, of x flattened. ValueError if one is below 0; ShapeError unless there is one for each.
//
//     const Tensor twice = repeat_interleave(tensor({1.0, 2}), 2);                     // [1, 1, 2, 2]
//     const Tensor some = repeat_interleave(tensor({1.0, 2}), tensor({3, 1}, int64));  // [1, 1, 1, 2]
Tensor repeat_interleave(const Tensor& x, std::int64_t repeats, std::optional<int> axis = {});
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int> axis = {});
// `value` around x: two numbers for each axis, before and after, the last axis first, as in PyTorch. Negative
// numbers cut.
//
//     const Tensor y = pad(ones({2, 3}), {1, 0, 0, 2});  // a column on the left, two rows below
//     // y is [[0, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
Tensor pad(const Tensor& x, const std::vector<std::int64_t>& padding, double value = 0);
Tensor roll(const Tensor& x, std::int64_t shift, int axis);  // x_(i − shift), around the end
// (n,) → (n + |offset|, n + |offset|) with x on a diagonal; (m, n) → that diagonal.
Tensor diag(const Tensor& x, std::int64_t offset = 0);
// The diagonal of two axes, as the last one: y_{…k} = x at k − min(offset, 0) of axis0 and k + max(offset, 0)
// of axis1. IndexError if they are one. A copy.
//
//     const Tensor y = diagonal(arange(0, 12).reshape({2, 2, 3}), 0, -2, -1);  // (2, 2): [[0, 4], [6, 10]]
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis0 = 0, int axis1 = 1);
Tensor trace(const Tensor& x);  // (m, n) → (): Σ x_ii

}  // namespace weft
