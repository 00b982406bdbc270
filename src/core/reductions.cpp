#include "weft/core/reductions.h"

#include <cmath>
#include <limits>

#include "core/common.h"
#include "core/kernels.h"

namespace weft {

namespace {

// The axes that a reduction of x names (all if none is named), and the shapes that it leads to.
struct ReducedAxes {
    std::vector<bool> axes;     // which axes are reduced
    Shape kept, dropped;        // x's shape with reduced axes of size 1, and without them
    std::int64_t elements = 1;  // that each result is made from

    ReducedAxes(const Tensor& x, const Axes& names)
        : axes(static_cast<std::size_t>(x.rank()), names.axes.empty()), kept(x.shape()) {
        for (int axis : names.axes) {
            auto reduced = axes.begin() + normalize_axis(axis, x.rank(), Op::name());
            if (*reduced) throw IndexError(Op::name(), ": axis ", axis, " is named twice; name each axis once");
            *reduced = true;
        }
        for (int i = 0; i < x.rank(); ++i)
            if (axes[static_cast<std::size_t>(i)])
                elements *= kept[i], kept[i] = 1;
            else
                dropped.push_back(kept[i]);
    }
    const Shape& shape(KeepDim keepdim) const { return keepdim ? kept : dropped; }
};

// Σ over the marked axes, in a shape with as many elements.
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

ValuesIndices min_max(const Tensor& x, int axis, KeepDim keepdim, bool largest) {
    axis = normalize_axis(axis, x.rank());
    if (x.dtype() == boolean) throw DTypeError(Op::name(), ": bool has no order; convert it with to()");
    check_computes(x.dtype());
    if (x.size(axis) == 0)
        throw ShapeError(Op::name(), ": axis ", axis, " of ", x.shape(),
                         " is empty; reduce an axis with elements");
    const Op here(Op::name());
    const kernels::MinMax found = kernels::min_max(x.array(), axis, largest);
    const Tensor indices(found.indices);
    // y = x at the index:  dx = dy there, else 0
    const Tensor y = record(Tensor(found.values), {x}, {indices},
                            [shape = x.shape(), axis](const Saved& saved, const Tensor& dy) {
                                return Grads{scatter_add(shape, axis, saved[0], dy)};
                            });
    return keepdim ? ValuesIndices{y, indices} : ValuesIndices{y.squeeze(axis), indices.squeeze(axis)};
}

Tensor min_max_of_all(const Tensor& x, bool largest) {
    if (x.numel() == 0)
        throw ShapeError(Op::name(), ": a tensor of shape ", x.shape(), " is empty; reduce one with elements");
    return min_max(x.reshape({-1}), 0, false, largest).values;
}

Tensor cumulative_sum(const Tensor& x, int axis, bool reverse) {
    const Op op("cumsum");
    if (x.dtype() == boolean) throw DTypeError("cumsum: bool does not add; convert it with to(int64) to count");
    check_computes(x.dtype());
    axis = normalize_axis(axis, x.rank());
    Array y = make_array(x.shape(), x.dtype());
    kernels::cumsum(y, x.array(), axis, reverse);
    // y_i = Σ_{j ≤ i} x_j:  dx_j = Σ_{i ≥ j} dy_i, a cumulative sum from the other end
    return record(Tensor(std::move(y)), {x}, {},
                  [=](const Saved&, const Tensor& dy) { return Grads{cumulative_sum(dy, axis, !reverse)}; });
}

// The largest finite element over the axes, which get size 1; 0 where there is none, or NaN; () for an x
// without elements.
Tensor largest_finite(const Tensor& x, const std::vector<bool>& reduced) {
    const Op op("max");
    if (x.numel() == 0) return scalar_like(x, 0);
    Tensor m = x;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (reduced[static_cast<std::size_t>(axis)]) m = min_max(m, axis, weft::keepdim, true).values;
    constexpr double inf = std::numeric_limits<double>::infinity();
    if (any(m == inf)) return largest_finite(masked_fill(x, x == inf, -inf), reduced);
    return masked_fill(m, !isfinite(m), 0);
}

// The mean is rounded, in float32 to 0.03 near 10⁶, so what remains has a mean, too, which is then taken out.
// The first needs no gradient: the second would take it out again.
Centred centred_over(const Tensor& x, const ReducedAxes& r) {
    const double n = static_cast<double>(r.elements);
    const Tensor v = x.detach();
    Tensor first = sum_over(v, r.axes, r.kept) / n;
    if (!all(isfinite(first))) first = sum_over(v / n, r.axes, r.kept);  // the sum may have overflowed
    const Tensor rest = x - first, second = sum_over(rest, r.axes, r.kept) / n;
    return {first + second.detach(), rest - second};
}

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

Centred centred(const Tensor& x, const Axes& axes) {
    const Op op("mean", Op::of_others);
    return centred_over(x, ReducedAxes(x, axes));
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

Tensor var(const Tensor& x, const Axes& axes, KeepDim keepdim, int correction) {
    const Op op("var");
    check_floating(x);
    const ReducedAxes r(x, axes);
    const double divisor = std::max(0.0, static_cast<double>(r.elements) - correction);
    const Tensor c = centred_over(x.detach(), r).rest;
    const Tensor y = sum_over(c * c, r.axes, r.shape(keepdim)) / divisor;
    // y = Σc²/(n − correction) with c = x − mean:  dx = dy·2c/(n − correction), because Σc = 0
    return record(y, {x}, {x, c}, [=](const Saved& saved, const Tensor& dy) {
        const Tensor c = is_grad_enabled() ? centred_over(saved[0], r).rest : saved[1];
        return Grads{c * (dy.reshape(r.kept) * (2 / divisor))};
    });
}

Tensor logsumexp(const Tensor& x, const Axes& axes, KeepDim keepdim) {
    const Op op("logsumexp");
    check_floating(x);
    const ReducedAxes r(x, axes);
    const Tensor v = x.detach(), m = largest_finite(v, r.axes);
    const Tensor y = (log(sum_over(exp(v - m), r.axes, r.kept)) + m).reshape(r.shape(keepdim));
    // y = ln Σeˣ:  dx = dy · eˣ/Σeˣ, with e^(x − m) for eˣ, as y was made (x − y has few digits left where x is
    // large); if every x is −inf, Σ is 0, and so is dx
    return record(y, {x}, {x, m}, [r](const Saved& saved, const Tensor& dy) {
        const Tensor e = exp(saved[0] - saved[1].detach());  // m cancels
        const Tensor total = sum_over(e, r.axes, r.kept);
        return Grads{e * (dy.reshape(r.kept) / masked_fill(total, total == 0, 1))};
    });
}

Tensor logaddexp(const Tensor& a, const Tensor& b) {
    const Op op("logaddexp", Op::of_others);
    const Tensor is_larger = a >= b, high = where(is_larger, a, b), low = where(is_larger, b, a);
    return high + softplus(masked_fill(low - high, isinf(low) && low == high, 0));
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

ValuesIndices max(const Tensor& x, int axis, KeepDim keepdim) {
    const Op op("max");
    return min_max(x, axis, keepdim, true);
}
ValuesIndices min(const Tensor& x, int axis, KeepDim keepdim) {
    const Op op("min");
    return min_max(x, axis, keepdim, false);
}
Tensor max(const Tensor& x) {
    const Op op("max", Op::of_others);
    return min_max_of_all(x, true);
}
Tensor min(const Tensor& x) {
    const Op op("min", Op::of_others);
    return min_max_of_all(x, false);
}
Tensor argmax(const Tensor& x, int axis, KeepDim keepdim) {
    const Op op("argmax");
    return min_max(x.detach(), axis, keepdim, true).indices;
}
Tensor argmin(const Tensor& x, int axis, KeepDim keepdim) {
    const Op op("argmin");
    return min_max(x.detach(), axis, keepdim, false).indices;
}
Tensor argmax(const Tensor& x) { return argmax(x.reshape({-1}), 0); }
Tensor argmin(const Tensor& x) { return argmin(x.reshape({-1}), 0); }
Tensor cumsum(const Tensor& x, int axis) { return cumulative_sum(x, axis, false); }

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

// root(x), with a gradient of 0 where x is 0 and the root has no finite slope.
template <class Root>
Tensor root_of(const Tensor& x, const Root& root) {
    const Tensor is_zero = x == 0;
    return masked_fill(root(masked_fill(x, is_zero, 1)), is_zero, 0);
}

}  // namespace

Tensor std(const Tensor& x, const Axes& axes, KeepDim keepdim, int correction) {
    const Op op("std", Op::of_others);
    check_floating(x);
    const ReducedAxes r(x, axes);
    const Tensor v = var(x, axes, keepdim, correction);
    const double elements = static_cast<double>(r.elements);
    // Squares that may have left the type's range are scaled first, as in norm, which also gives a variance of
    // 0 its gradient.
    const double smallest = x.dtype() == float32 ? 0x1p-100 : 0x1p-960;
    if (elements <= correction || all(v >= smallest && isfinite(v))) return sqrt(v);
    return norm(centred_over(x, r).rest, 2, axes, keepdim) / std::sqrt(elements - correction);
}

// Divided by the largest element first, which keeps the powers from overflowing. The quotient does not depend
// on that divisor, so it needs no gradient.
Tensor norm(const Tensor& x, double p, const Axes& axes, KeepDim keepdim) {
    const Op op("norm", Op::of_others);
    check_floating(x);
    if (!(p > 0)) throw ValueError("norm: p is ", p, "; use a p above 0, or infinity for the largest |x|");
    const ReducedAxes r(x, axes);
    const Tensor size = abs(x);
    if (p == 1 || x.numel() == 0) return sum_over(size, r.axes, r.shape(keepdim));
    Tensor largest = size;
    std::vector<int> reduced = axes.axes;
    if (reduced.empty())
        for (int axis = 0; axis < x.rank(); ++axis) reduced.push_back(axis);
    for (int axis : reduced) largest = max(largest, axis, weft::keepdim).values;
    const auto squeezed = [&](const Tensor& y) { return keepdim ? y : y.reshape(r.dropped); };
    if (std::isinf(p)) return squeezed(largest);
    const Tensor unit = masked_fill(largest.detach(), largest.detach() == 0 || isinf(largest), 1);
    // |x|² as x·x, because |x| hides the curvature at 0 from a second derivative.
    const auto power = [p](const Tensor& v) { return pow(v, p); };
    const Tensor scaled = x / unit;
    const Tensor powers = p == 2 ? scaled * scaled : p < 1 ? root_of(size / unit, power) : power(size / unit);
    const Tensor total = sum_over(powers, r.axes, r.kept);
    if (p >= 1) return squeezed(unit * root_of(total, [p](const Tensor& v) { return pow(v, 1 / p); }));
    // The root of a small p may leave the range that its product with `unit` is in: half of it, twice.
    const Tensor half = root_of(total, [p](const Tensor& v) { return pow(v, 0.5 / p); });
    return squeezed(unit * half * half);
}

}  // namespace weft
