// Running products. Their gradients need no division, so they are right where factors are 0.
#include "weft/ops/reductions.h"

#include "core/common.h"
#include "core/kernels.h"

namespace weft {

namespace {

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

}  // namespace weft
