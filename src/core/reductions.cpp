#include "weft/core/reductions.h"

#include "core/common.h"
#include "core/kernels.h"
#include "core/run.h"

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

namespace {

// Logits (R, V), targets (R,).
Tensor small_cross_entropy(const Inputs& in, const ClassOptions& o) {
    const Tensor &logits = in[0], &targets = in[1], ignored = targets == integer(o.ignore_index);
    const double counted = static_cast<double>(targets.numel()) - sum(ignored.to(int64)).item();
    // Ignored rows are set to 0, because NaN · 0 is not 0.
    const Tensor read = any(ignored) ? masked_fill(logits, ignored.unsqueeze(1), 0) : logits;
    if (counted == 0) return sum(read);
    const Tensor index = masked_fill(targets, ignored, 0).unsqueeze(1);      // (R, 1)
    const Tensor log_p = gather(log_softmax(read, 1), 1, index).squeeze(1);  // (R,)
    return sum(masked_fill(-log_p, ignored, 0)) / counted;
}

}  // namespace

void check_classes(const char* what, const Tensor& x, const Tensor& targets, std::int64_t ignore_index) {
    check_floating(x);
    check_dtype("the targets", targets, int64);
    Shape wanted = x.shape();
    if (wanted.rank() > 0) wanted.erase(-1);
    if (x.rank() == 0 || targets.shape() != wanted) {
        Shape second = x.shape();  // without axis 1, where PyTorch has the classes
        if (second.rank() > 2) second.erase(1);
        const bool is_second = second == targets.shape();
        throw ShapeError(Op::name(), ": ", what, " ", x.shape(), " and targets ", targets.shape(),
                         " do not fit; ", what, " are (…, classes), targets (…)",
                         (is_second ? ": move the classes behind, with movedim(x, 1, -1)" : ""));
    }
    const std::int64_t V = x.size(-1);
    const Array dense = kernels::contiguous(targets.array());
    const std::int64_t wrong = kernels::first_outside(dense, 0, V, ignore_index);
    if (wrong >= 0)
        throw IndexError(Op::name(), ": target ", element_of(dense, wrong), " at flat position ", wrong,
                         " is outside the ", V, " classes (0 to ", V - 1, ", or ignore_index ", ignore_index,
                         ")");
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index) {
    const Op op("cross_entropy", Op::of_others);
    check_classes("logits", logits, targets, ignore_index);
    const std::int64_t V = logits.size(-1), R = targets.numel();
    const Tensor x = logits.reshape({R, V}), t = targets.reshape({R}).contiguous();
    return run("cross_entropy", {x, t}, ClassOptions{ignore_index}, small_cross_entropy, cross_entropy_kernel);
}

}  // namespace weft
