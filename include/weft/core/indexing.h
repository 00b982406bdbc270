// Elements by their indices: int64 (DTypeError), −n ≤ i < n; otherwise IndexError with position and value. The
// gradients of an index that occurs more than once add up.
#pragma once

#include <cstdint>

#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// x, expanded to `shape`. ShapeError if x does not broadcast to it.
Tensor broadcast_to(const Tensor& x, const Shape& shape);
// The tensors joined along an axis that they have. ShapeError for an empty list, or if other sizes differ.
//
//     const Tensor a = ones({2, 3}), b = zeros({2, 3});
//     const Tensor rows = cat({a, b});         // (4, 3)
//     const Tensor columns = cat({a, b}, -1);  // (2, 6)
Tensor cat(const std::vector<Tensor>& tensors, int axis = 0);
template <std::same_as<Tensor>... More>
Tensor cat(const Tensor&, const Tensor&, const More&...) = delete;  // write cat({a, b}, 0)
// x (…, n, …), index (m,) → (…, m, …): x's slices at `index` along the axis. ShapeError unless index is (m,).
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
// y_{i…} = x at index_{i…} along the axis, with the other coordinates unchanged; of index's shape. ShapeError
// unless index has x's rank and is no larger on the other axes.
//
//     const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
//     const Tensor index = tensor({{2}, {0}}, int64);
//     const Tensor y = gather(x, 1, index);  // (2, 1): [[3], [4]]
Tensor gather(const Tensor& x, int axis, const Tensor& index);
// The transpose of gather: zeros of `shape`, with source added at `index` along the axis. ShapeError unless
// source has index's shape.
Tensor scatter_add(const Shape& shape, int axis, const Tensor& index, const Tensor& source);
// table (V, C), ids (…) int64 → (…, C): the rows of the table. Ids do not wrap: IndexError, with its
// position, for an id < 0 or ≥ V. Of a table that stores (bfloat16, float16, blocks) they are float32.
Tensor embedding(const Tensor& table, const Tensor& ids);

}  // namespace weft
