// Elementwise functions of one tensor that are composed of others.
#include "weft/core/more.h"

#include "core/ops/common.h"

namespace weft {

Tensor rsqrt(const Tensor& x) {
    check_floating("rsqrt", x);
    return 1 / sqrt(x);
}

Tensor isnan(const Tensor& x) { return is_floating_point(x.dtype()) ? x != x : zeros(x.shape(), boolean); }

Tensor isinf(const Tensor& x) { return !isfinite(x) && !isnan(x); }

Tensor silu(const Tensor& x) {
    check_floating("silu", x);
    return x * sigmoid(x);
}

Tensor softplus(const Tensor& x) {
    check_floating("softplus", x);
    Tensor y;
    {
        const NoGrad off;
        y = relu(x) + log1p(exp(-abs(x)));
    }
    // y = ln(1 + eˣ):  dx = dy·σ(x)
    return record("softplus", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * sigmoid(saved[0])}; });
}

Tensor leaky_relu(const Tensor& x, double negative_slope) {
    check_floating("leaky_relu", x);
    return where(x > 0, x, x * negative_slope);
}

Tensor elu(const Tensor& x, double alpha) {
    check_floating("elu", x);
    const Tensor is_positive = x > 0;
    return where(is_positive, x, alpha * expm1(masked_fill(x, is_positive, 0)));
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) try {
    check_same_dtype("allclose", a, b);
    if (!is_floating_point(a.dtype())) return all(a == b);
    // Infinities are close only to themselves: their difference is NaN or infinite.
    const Tensor x = a.detach(), y = b.detach();
    Tensor is_close = x == y || (isfinite(y) && abs(x - y) <= atol + rtol * abs(y));
    if (equal_nan) is_close = is_close || (isnan(x) && isnan(y));
    return all(is_close);
} catch (const Error&) {
    rethrow_as("allclose");
}

}  // namespace weft
