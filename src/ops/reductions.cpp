// Running products. Their gradients need no division, so they are right where factors are 0.
#include "weft/ops/reductions.h"

#include <numeric>

#include "core/common.h"
#include "ops/common.h"
#include "weft/core/indexing.h"
#include "weft/ops/creation.h"

namespace weft {

namespace {

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

// root(x), with a gradient of 0 where x is 0 and the root has no finite slope.
template <class Root>
Tensor root_of(const Tensor& x, const Root& root) {
    const Tensor is_zero = x == 0;
    return masked_fill(root(masked_fill(x, is_zero, 1)), is_zero, 0);
}

// y_0 = b_0 and y_i = b_i + a_{i−1}·y_{i−1} along the axis, or in reverse y_i = b_i + a_i·y_{i+1}, for a with
// one element fewer than b.
Tensor linear_scan(const Tensor& a, const Tensor& b, int axis, bool reverse) {
    const Op op("linear_scan");
    Array scanned = make_array(b.shape(), b.dtype());
    kernels::linear_scan(scanned, a.array(), b.array(), axis, reverse);
    const Tensor y(std::move(scanned));
    // db is a scan of dy from the other end, and da is db · the y that a multiplies
    return record(y, {a, b}, {a, y}, [=](const Saved& saved, const Tensor& dy) {
        const Tensor &a = saved[0], &y = saved[1], db = linear_scan(a, dy, axis, !reverse);
        const std::int64_t n = y.size(axis);
        return Grads{reverse ? db.slice(axis, 0, n - 1) * y.slice(axis, 1, n)
                             : db.slice(axis, 1, n) * y.slice(axis, 0, n - 1),
                     db};
    });
}

// dx_j = Σ_{i ≥ j} dy_i · Π_{k ≤ i, k ≠ j} x_k, the gradient of cumprod.
Tensor cumprod_gradient(const Tensor& x, const Tensor& dy, int axis) {
    const Op op("cumprod_gradient");
    if (x.numel() == 0) return x + dy;
    Array dx = make_array(x.shape(), x.dtype());
    kernels::cumprod_backward(dx, x.array(), dy.array(), axis);
    // dx_j = p_j·s_j with the product p before j and the scan s of dy from the end:  s passes g·p on as a scan
    // does, and p, which is cumprod moved by one, passes g·s on as cumprod does
    return record(Tensor(std::move(dx)), {x, dy}, {x, dy}, [axis](const Saved& saved, const Tensor& g) {
        const Tensor &x = saved[0], &dy = saved[1];
        const std::int64_t n = x.size(axis);
        const Tensor one = ones_like(x.slice(axis, 0, 1)), zero = zeros_like(one),
                     head = x.slice(axis, 0, n - 1), tail = x.slice(axis, 1, n);
        const Tensor p = cat({one, cumprod(head, axis)}, axis), s = linear_scan(tail, dy, axis, true);
        const Tensor ddy = linear_scan(tail, g * p, axis, false);
        const Tensor dtail = ddy.slice(axis, 0, n - 1) * s.slice(axis, 1, n);
        const Tensor dhead = cumprod_gradient(head, (g * s).slice(axis, 1, n), axis);
        return Grads{cat({zero, dtail}, axis) + cat({dhead, zero}, axis), ddy};
    });
}

}  // namespace

Centred centred(const Tensor& x, const Axes& axes) {
    const Op op("mean", Op::of_others);
    return centred_over(x, ReducedAxes(x, axes));
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

Tensor cumprod(const Tensor& x, int axis) {
    const Op op("cumprod");
    check_arithmetic(x);
    check_computes(x.dtype());
    axis = normalize_axis(axis, x.rank());
    if (x.numel() == 0) return x.clone();
    Array y = make_array(x.shape(), x.dtype());
    kernels::cumprod(y, x.array(), axis);
    return record(Tensor(std::move(y)), {x}, {x}, [axis](const Saved& saved, const Tensor& dy) {
        return Grads{cumprod_gradient(saved[0], dy, axis)};
    });
}

Tensor prod(const Tensor& x, int axis, KeepDim keepdim) {
    const Op op("prod", Op::of_others);
    check_arithmetic(x);
    check_computes(x.dtype());
    axis = normalize_axis(axis, x.rank());
    const std::int64_t n = x.size(axis);
    if (n == 0) return sum(x, axis, keepdim) + 1;
    const Tensor last =
        cumprod(x, axis).slice(axis, n - 1, n).clone();  // not a view, which would keep the others
    return keepdim ? last : last.squeeze(axis);
}

Tensor prod(const Tensor& x) { return prod(x.reshape({-1}), 0); }

Tensor scatter(const Tensor& x, int axis, const Tensor& indices, const Tensor& source) {
    const Op op("scatter", Op::of_others);
    // Each element of y is one of x or of source: the numbers of their positions are scattered first.
    axis = normalize_axis(axis, x.rank());
    check_fits(indices.shape(), x.shape(), axis);
    if (indices.shape() != source.shape())
        throw ShapeError("scatter: an index of shape ", indices.shape(), " for a source of ", source.shape(),
                         "; they must be equal");
    const Tensor index = normalized(indices, x.size(axis));
    const std::int64_t n = x.numel();
    std::vector<std::int64_t> from = arange(n).to_vector<std::int64_t>();
    std::int64_t number = n;
    for (const std::int64_t at : gather(arange(n).reshape(x.shape()), axis, index).to_vector<std::int64_t>())
        from[static_cast<std::size_t>(at)] = number++;
    return index_select(cat({x.reshape({-1}), source.reshape({-1})}), 0, from_vector(from)).reshape(x.shape());
}

Tensor scatter(const Tensor& x, int axis, const Tensor& index, double value) {
    const Op op("scatter", Op::of_others);
    return scatter(x, axis, index, full(index.shape(), value, x.dtype()));
}

Tensor one_hot(const Tensor& ids, std::int64_t num_classes) {
    const Op op("one_hot", Op::of_others);
    check_dtype("the ids", ids, int64);
    if (num_classes == -1)
        num_classes = ids.numel() == 0 ? 0 : (max(ids) + 1).to_vector<std::int64_t>()[0];  // wraps
    if (num_classes < 0)
        throw ValueError("one_hot: ", num_classes, " classes; use 0 or more, or -1 for the largest id + 1");
    const Tensor dense = ids.contiguous();
    const std::int64_t wrong = kernels::first_outside(dense.array(), 0, num_classes);
    if (wrong >= 0)
        throw IndexError("one_hot: id ", element_of(dense.array(), wrong), " at position ",
                         format_index(wrong, ids.shape()), " is outside the ", num_classes, " classes (0 to ",
                         num_classes - 1, ")");
    return (ids.unsqueeze(-1) == arange(num_classes)).to(int64);
}

Tensor nonzero(const Tensor& x) {
    const std::vector<bool> is_set = (x.dtype() == boolean ? x : x != 0).to_vector<bool>();
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < is_set.size(); ++i) {
        if (!is_set[i]) continue;
        auto rest = static_cast<std::int64_t>(i);
        for (int axis = x.rank(); axis-- > 0; rest /= x.size(axis)) indices.push_back(rest % x.size(axis));
        std::reverse(indices.end() - x.rank(), indices.end());
    }
    const std::int64_t n = std::count(is_set.begin(), is_set.end(), true);
    return from_vector(indices, {n, x.rank()});
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
    const Op op("masked_select", Op::of_others);
    check_dtype("the mask", mask, boolean);
    const Shape shape = broadcast_shapes(x.shape(), mask.shape());
    const Tensor positions = nonzero(broadcast_to(mask, shape).reshape({-1})).squeeze(1);
    return index_select(broadcast_to(x, shape).reshape({-1}), 0, positions);
}

namespace {

// The order of n elements, `stride` apart. NaN counts as the largest, as in max. Equal elements keep their
// order.
template <class T>
void order_row(std::int64_t* order, const T* x, std::int64_t n, bool descending) {
    std::iota(order, order + n, 0);
    const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
    std::stable_sort(order, order + n, [&](std::int64_t i, std::int64_t j) {
        return descending ? less(x[j], x[i]) : less(x[i], x[j]);
    });
}

}  // namespace

Tensor argsort(const Tensor& x, int axis, bool descending) {
    const Op op("argsort", Op::of_others);
    check_arithmetic(x);
    check_computes(x.dtype());
    axis = normalize_axis(axis, x.rank());
    const Tensor rows = x.detach().transpose(axis, -1).contiguous();
    const std::int64_t n = rows.size(-1);
    Tensor order = empty(rows.shape(), int64);
    for (std::int64_t first = 0; first < rows.numel(); first += n)
        visit_numeric(x.dtype(), [&]<class T>(T) {
            order_row(order.data<std::int64_t>() + first, rows.data<T>() + first, n, descending);
        });
    return order.transpose(axis, -1);
}

ValuesIndices sort(const Tensor& x, int axis, bool descending) {
    const Op op("sort", Op::of_others);
    const Tensor order = argsort(x, axis, descending);
    return {gather(x, axis, order), order};
}

ValuesIndices topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
    const Op op("topk", Op::of_others);
    axis = normalize_axis(axis, x.rank());
    if (k < 0 || k > x.size(axis))
        throw ValueError("topk: k is ", k, ", but axis ", axis, " of ", x.shape(), " has ", x.size(axis),
                         " elements; use 0 to ", x.size(axis));
    const Tensor order = argsort(x, axis, largest).slice(axis, 0, k);
    return {gather(x, axis, order), order};
}

UniqueResult unique(const Tensor& x) {
    if (x.dtype() == boolean) {
        const UniqueResult found = unique(x.to(int64));
        return {found.values.to(boolean), found.inverse, found.counts};
    }
    const Tensor flat = x.detach().reshape({-1}), order = argsort(flat);
    const Tensor sorted = index_select(flat, 0, order);
    const std::int64_t n = x.numel(), first = std::min<std::int64_t>(n, 1);
    const Tensor is_new =
        cat({ones({first}, boolean), sorted.slice(0, first, n) != sorted.slice(0, 0, n - first)});
    const Tensor values = masked_select(sorted, is_new), number = cumsum(is_new.to(int64), 0) - 1;
    return {values, scatter_add({n}, 0, order, number).reshape(x.shape()),
            scatter_add(values.shape(), 0, number, ones({n}, int64))};
}

}  // namespace weft
