// The operations that src/fast computes at once, and what each is told besides its inputs.
#pragma once

#include "autograd/run.h"
#include "kernels/interface.h"
#include "weft/ops/attention.h"
#include "weft/ops/functions.h"
#include "weft/ops/heads.h"
#include "weft/ops/rotary.h"

namespace weft {

// linear of x, weight and bias; x is (rows, in) as a matrix, the result has `shape`. A weight that stores is
// widened to float32, which x is.
struct LinearOptions {
    Shape shape;
    std::int64_t rows;
};
extern const Kernel<LinearOptions> linear_kernel;

// layer_norm of x, weight and bias, and rms_norm of x and weight.
struct NormOptions {
    double eps;
};
extern const Kernel<NormOptions> layer_norm_kernel, rms_norm_kernel;

extern const Kernel<Gelu> gelu_kernel;

// cross_entropy of logits (R, V) and targets (R,), both contiguous, of which those of ignore_index do not
// count.
struct ClassOptions {
    std::int64_t ignore_index;
};
extern const Kernel<ClassOptions> cross_entropy_kernel;

// rotary of x, cosines and sines.
extern const Kernel<RotaryPairs> rotary_kernel;

// scaled_dot_product_attention of q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), the bias, and the
// tensors of the mask.
struct AttentionSetup {
    AttentionOptions options;                // with the scale, and without the bias, which is an input
    std::vector<Tensor> documents, blocked;  // the parts of the mask, for these sizes
    kernels::Dropout dropout = {};
};
extern const Kernel<AttentionSetup> attention_kernel;

// The same of the projection (B, T, …) that they are columns of, in place of q, k and v.
struct PackedSetup : AttentionSetup {
    HeadSizes sizes;
};
extern const Kernel<PackedSetup> packed_attention_kernel;

}  // namespace weft
