// Diagonals of matrices.
#include <algorithm>
#include <cstdint>

#include "core/common.h"
#include "weft/ops/shapes.h"

namespace weft {

namespace {

constexpr std::int64_t beyond = INT32_MAX;  // any diagonal

}  // namespace

Tensor diag(const Tensor& x, std::int64_t offset) {
    const Op op("diag", Op::of_others);
    if (x.rank() != 1 && x.rank() != 2)
        throw ShapeError("diag: a tensor of shape ", x.shape(), "; it must be (n,) or (m, n)");
    if (x.rank() == 2) return diagonal(x, offset);
    offset = std::clamp<std::int64_t>(offset, -beyond, beyond);
    const std::int64_t down = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
    const std::int64_t n = x.numel(), size = n + down + right;
    const Tensor columns = (arange(n) + integer(right)).unsqueeze(1);
    return pad(scatter_add({n, size}, 1, columns, x.unsqueeze(1)), {0, 0, down, right});
}

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis0, int axis1) {
    const Op op("diagonal", Op::of_others);
    axis0 = normalize_axis(axis0, x.rank());
    axis1 = normalize_axis(axis1, x.rank());
    if (axis0 == axis1) throw IndexError("diagonal: axis ", axis0, " is named twice; name two axes");
    Shape axes;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (axis != axis0 && axis != axis1) axes.push_back(axis);
    axes.push_back(axis0);
    axes.push_back(axis1);
    offset = std::clamp<std::int64_t>(offset, -beyond, beyond);
    const std::int64_t down = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
    const std::int64_t columns = x.size(axis1);
    const std::int64_t n = std::max<std::int64_t>(0, std::min(x.size(axis0) - down, columns - right));
    const Tensor positions = arange(n) * integer(columns + 1) + integer(n == 0 ? 0 : down * columns + right);
    return index_select(flatten(x.permute(axes), -2, -1), x.rank() - 2, positions);
}

Tensor trace(const Tensor& x) {
    if (x.rank() != 2)
        throw ShapeError("trace: a tensor of shape ", x.shape(), " is not a matrix; it needs two axes");
    return sum(diagonal(x));
}

}  // namespace weft
