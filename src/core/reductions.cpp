#include "weft/core/reductions.h"

#include <cmath>
#include <limits>

#include "core/common.h"
#include "core/kernels.h"

namespace weft {

namespace {

// Applies a kernel for the last axis to any axis.
template <class Kernel>
Tensor apply_along_axis(const Tensor& x, int axis, const Kernel& kernel) {
    const int last = x.rank() - 1;
    const Array rows = kernels::contiguous(transposed_view(x.array(), axis, last));
    const Array y = make_array(rows.shape, rows.dtype);
    kernel(y, rows);
    return Tensor(axis == last ? y : transposed_view(y, axis, last));
}

}  // namespace

Tensor sum_over(const Tensor& x, const std::vector<bool>& axes, const Shape& shape) {
    const Op op("sum");
    if (x.dtype() == boolean) throw DTypeError("sum_to: bool does not add; convert it with to(int64) to count");
    check_computes(x.dtype());
    Array y = kernels::sum(x.array(), axes);
    if (y.storage == x.array().storage) y = kernels::copy_of(y);  // nothing to sum, but the result is new
    const Shape kept = y.shape;
    // y = Σx:  dx = dy, expanded
    return record(Tensor(view_of(y, shape, contiguous_strides(shape), y.offset)), {x}, {},
                  [kept, shape = x.shape()](const Saved&, const Tensor& dy) {
                      return Grads{dy.reshape(kept).expand(shape)};
                  });
}

Tensor sum(const Tensor& x, const Axes& axes, KeepDim keepdim) {
    const Op op("sum", Op::of_others);
    if (x.dtype() == boolean) return sum(x.to(int64), axes, keepdim);
    const ReducedAxes r(x, axes);
    return sum_over(x, r.axes, r.shape(keepdim));
}

Tensor mean(const Tensor& x, const Axes& axes, KeepDim keepdim) {
    const Op op("mean", Op::of_others);
    if (x.dtype() == boolean) return mean(x.to(float32), axes, keepdim);
    check_floating(x);
    const ReducedAxes r(x, axes);
    return sum_over(x, r.axes, r.shape(keepdim)) / static_cast<double>(r.elements);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
    if (x.shape() == shape) return unchanged(x);
    if (broadcast_shapes(x.shape(), shape, "sum_to") != x.shape())
        throw ShapeError("sum_to: ", shape, " does not broadcast to ", x.shape(),
                         "; use a shape that the tensor's was broadcast from");
    const int extra = x.rank() - shape.rank();
    std::vector<bool> reduced(static_cast<std::size_t>(x.rank()), false);
    for (int i = 0; i < x.rank(); ++i)
        reduced[static_cast<std::size_t>(i)] = i < extra || (shape[i - extra] == 1 && x.size(i) != 1);
    return sum_over(x, reduced, shape);
}

Tensor softmax(const Tensor& x, int axis) {
    const Op op("softmax");
    check_floating(x);
    axis = normalize_axis(axis, x.rank());
    const Tensor y = apply_along_axis(x, axis, kernels::softmax);
    // y = softmax(x):  dx = y·(dy − Σ y·dy)
    return record_symmetric(y, {x}, {y}, [axis](const Saved& saved, const Tensor& dy) {
        const Tensor no_gradient = rows_without_gradient(saved[0], dy, axis);
        const Tensor y = no_gradient.defined() ? masked_fill(saved[0], no_gradient, 0) : saved[0];
        return Grads{y * (dy - sum(y * dy, axis, weft::keepdim))};
    });
}

Tensor log_softmax(const Tensor& x, int axis) {
    const Op op("log_softmax");
    check_floating(x);
    axis = normalize_axis(axis, x.rank());
    const Tensor y = apply_along_axis(x, axis, kernels::log_softmax);
    // y = x − ln Σeˣ:  dx = dy − softmax(x)·Σdy; in a row of −inf, eʸ is 0, and so is dx
    return record(y, {x}, {y}, [axis](const Saved& saved, const Tensor& dy) {
        const Tensor p = exp(saved[0]);
        const Tensor has_finite = sum(p.detach(), axis, weft::keepdim) != 0;
        return Grads{where(has_finite, dy - p * sum(dy, axis, weft::keepdim), scalar_like(dy, 0))};
    });
}

}  // namespace weft
