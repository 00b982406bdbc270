// Running sums and products along an axis. Each row is computed in order, so its bits depend on it alone.
#pragma once

#include "tensor/array.h"

namespace weft::kernels {

// All arrays have the same type, floating or int64, and `out` and `dx` are contiguous.

void cumsum(const Array& out, const Array& x, int axis, bool reverse);
void cumprod(const Array& out, const Array& x, int axis);
// dx_j = Σ_{i ≥ j} dy_i · Π_{k ≤ i, k ≠ j} x_k, without a division, because factors may be 0. Only the result
// can leave the type's range. Floating.
void cumprod_backward(const Array& dx, const Array& x, const Array& dy, int axis);
// y_0 = b_0 and y_i = b_i + a_{i−1} · y_{i−1}; in reverse y_{n−1} = b_{n−1} and y_i = b_i + a_i · y_{i+1}. The
// axis of a is shorter by one.
void linear_scan(const Array& out, const Array& a, const Array& b, int axis, bool reverse);

}  // namespace weft::kernels
