// Reductions and sorting that are composed of other operations.
#include <cmath>
#include <numeric>

#include "core/ops/common.h"
#include "weft/core/more.h"
#include "weft/core/text.h"

namespace weft {
namespace {

// root(x), with a gradient of 0 where x is 0 and the root has no finite slope.
template <class Root>
Tensor root_of(const Tensor& x, const Root& root) {
    const Tensor is_zero = x == 0;
    return masked_fill(root(masked_fill(x, is_zero, 1)), is_zero, 0);
}

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

Tensor all(const Tensor& x, const Axes& axes, bool keepdim) try {
    check_dtype("all", "x", x, boolean);
    return !any(!x, axes, keepdim);
} catch (const Error&) {
    rethrow_as("all");
}

Tensor any(const Tensor& x, const Axes& axes, bool keepdim) try {
    check_dtype("any", "x", x, boolean);
    return sum(x.to(int64), axes, keepdim) != 0;
} catch (const Error&) {
    rethrow_as("any");
}

Tensor std(const Tensor& x, const Axes& axes, bool keepdim, int correction) try {
    check_floating("std", x);
    const Tensor v = var(x, axes, keepdim, correction);
    const double elements = static_cast<double>(x.numel()) / static_cast<double>(v.numel());
    // Squares that may have left the type's range are scaled first, as in norm, which also gives a variance of
    // 0 its gradient.
    const double smallest = x.dtype() == float32 ? 0x1p-100 : 0x1p-960;
    if (elements <= correction || all(v >= smallest && isfinite(v))) return sqrt(v);
    return norm(centred(x, axes).rest, 2, axes, keepdim) / std::sqrt(elements - correction);
} catch (const Error&) {
    rethrow_as("std");
}

// Divided by the largest element first, which keeps the powers from overflowing. The quotient does not depend
// on that divisor, so it needs no gradient.
Tensor norm(const Tensor& x, double p, const Axes& axes, bool keepdim) try {
    check_floating("norm", x);
    if (!(p > 0)) throw ValueError("norm: p is ", p, "; use a p above 0, or infinity for the largest |x|");
    const Tensor size = abs(x);
    if (p == 1 || x.numel() == 0) return sum(size, axes, keepdim);
    Tensor largest = size;
    std::vector<int> reduced = axes.axes;
    if (reduced.empty())
        for (int axis = 0; axis < x.rank(); ++axis) reduced.push_back(axis);
    for (int axis : reduced) largest = max(largest, axis, weft::keepdim).values;
    const auto squeezed = [&](const Tensor& y) { return keepdim ? y : sum(y, axes); };  // each axis has size 1
    if (std::isinf(p)) return squeezed(largest);
    const Tensor unit = masked_fill(largest.detach(), largest.detach() == 0 || isinf(largest), 1);
    // |x|² as x·x, because |x| hides the curvature at 0 from a second derivative.
    const auto power = [p](const Tensor& v) { return pow(v, p); };
    const Tensor scaled = x / unit;
    const Tensor powers = p == 2 ? scaled * scaled : p < 1 ? root_of(size / unit, power) : power(size / unit);
    const Tensor total = sum(powers, Axes(reduced), weft::keepdim);
    if (p >= 1) return squeezed(unit * root_of(total, [p](const Tensor& v) { return pow(v, 1 / p); }));
    // The root of a small p may leave the range that its product with `unit` is in: half of it, twice.
    const Tensor half = root_of(total, [p](const Tensor& v) { return pow(v, 0.5 / p); });
    return squeezed(unit * half * half);
} catch (const Error&) {
    rethrow_as("norm");
}

Tensor argmin(const Tensor& x, int axis, bool keepdim) try {
    return min(x.detach(), axis, keepdim).indices;
} catch (const Error&) {
    rethrow_as("argmin");
}
Tensor argmax(const Tensor& x) { return argmax(x.reshape({-1}), 0); }
Tensor argmin(const Tensor& x) try { return argmin(x.reshape({-1}), 0); } catch (const Error&) {
    rethrow_as("argmin");
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
    check_arithmetic("argsort", x);
    axis = normalize_axis(axis, x.rank(), "argsort");
    const Tensor rows = x.detach().transpose(axis, -1).contiguous();
    const std::int64_t n = rows.size(-1);
    Tensor order = empty(rows.shape(), int64);
    for (std::int64_t first = 0; first < rows.numel(); first += n)
        visit_numeric(x.dtype(), [&]<class T>(T) {
            order_row(order.data<std::int64_t>() + first, rows.data<T>() + first, n, descending);
        });
    return order.transpose(axis, -1);
}

ValuesIndices sort(const Tensor& x, int axis, bool descending) try {
    const Tensor order = argsort(x, axis, descending);
    return {gather(x, axis, order), order};
} catch (const Error&) {
    rethrow_as("sort");
}

ValuesIndices topk(const Tensor& x, std::int64_t k, int axis, bool largest) try {
    axis = normalize_axis(axis, x.rank(), "topk");
    if (k < 0 || k > x.size(axis))
        throw ValueError("topk: k is ", k, ", but axis ", axis, " of ", x.shape(), " has ", x.size(axis),
                         " elements; use 0 to ", x.size(axis));
    const Tensor order = argsort(x, axis, largest).slice(axis, 0, k);
    return {gather(x, axis, order), order};
} catch (const Error&) {
    rethrow_as("topk");
}

}  // namespace weft
