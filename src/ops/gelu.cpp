// x times the normal distribution function, and its approximation.
#include <cmath>
#include <numbers>

#include "ops/common.h"
#include "ops/slots.h"
#include "weft/ops/functions.h"

namespace weft {

namespace {

Tensor small_gelu(const Inputs& in, const Gelu& kind) {
    const Tensor& x = in[0];
    if (kind == Gelu::exact) return x * 0.5 * (1 + erf(x / std::numbers::sqrt2));
    const Tensor t = clamp(x, -50, 50);  // beyond, tanh is ±1, and the cube might overflow
    return 0.5 * x * (1 + tanh(std::sqrt(2 / std::numbers::pi) * (t + 0.044715 * (t * t * t))));
}

}  // namespace

Tensor gelu(const Tensor& x, Gelu kind) {
    const Op op("gelu", Op::of_others);
    check_floating(x);
    return run("gelu", {x}, kind, small_gelu, gelu_kernel);
}

}  // namespace weft
