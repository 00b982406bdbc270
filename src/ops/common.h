// What the operations of this room share, and what src/fast computes for them.
#pragma once

#include "core/common.h"
#include "core/run.h"
#include "weft/ops/functions.h"
#include "weft/ops/norms.h"

namespace weft {

// A mean over axes, which have size 1, and what remains of x without it.
struct Centred {
    Tensor mean;  // outside the graph
    Tensor rest;  // x − mean, in x's shape
};
Centred centred(const Tensor& x, const Axes& axes);

// layer_norm of x, weight and bias, and rms_norm of x and weight.
struct NormOptions {
    double eps;
};
extern const Kernel<NormOptions> layer_norm_kernel, rms_norm_kernel;

// rotary of x, cosines and sines.
extern const Kernel<RotaryPairs> rotary_kernel;

extern const Kernel<Gelu> gelu_kernel;

}  // namespace weft

namespace weft::kernels {

struct MinMax {
    Array values, indices;  // the axis has size 1; indices int64, of the first occurrence
};

extern const Slot<MinMax(const Array& x, int axis, bool largest)>
    min_max;  // NaN comes first; the axis is not empty

// Along an axis, into a contiguous out. In reverse, sums run from the end of the axis.
// Along an axis; the arrays have one shape where nothing else is said.
extern const Slot<void(const Array& out, const Array& x, int axis, bool reverse)> cumsum;
void cumprod(const Array& out, const Array& x, int axis);
// dx_j = Σ_{i ≥ j} dy_i · Π_{k ≤ i, k ≠ j} x_k, without a division, because factors may be 0. Only the result
// can leave the type's range. Floating.
extern const Slot<void(const Array& dx, const Array& x, const Array& dy, int axis)> cumprod_backward;
// y_0 = b_0 and y_i = b_i + a_{i−1} · y_{i−1}; in reverse y_{n−1} = b_{n−1} and y_i = b_i + a_i · y_{i+1}. The
// axis of a is shorter by one.
void linear_scan(const Array& out, const Array& a, const Array& b, int axis, bool reverse);

// What src/fast has for these slots; null where there is nothing.
struct InstalledInOps {
    decltype(kernels::min_max)::Type* min_max;
    decltype(kernels::cumsum)::Type* cumsum;
    decltype(kernels::cumprod_backward)::Type* cumprod_backward;
};
extern const InstalledInOps installed_in_ops;

}  // namespace weft::kernels
