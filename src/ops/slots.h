// The operations of this room that src/fast computes at once, and what each is told besides its inputs.
#pragma once

#include "core/run.h"
#include "weft/ops/norms.h"

namespace weft {

// layer_norm of x, weight and bias, and rms_norm of x and weight.
struct NormOptions {
    double eps;
};
extern const Kernel<NormOptions> layer_norm_kernel, rms_norm_kernel;

// rotary of x, cosines and sines.
extern const Kernel<RotaryPairs> rotary_kernel;

}  // namespace weft
