// The operations of the core that src/fast computes at once, and what each is told besides its inputs.
#pragma once

#include "core/kernels.h"
#include "core/run.h"
#include "weft/core/attention.h"
#include "weft/core/functions.h"
#include "weft/core/heads.h"

namespace weft {

// linear of x, weight and bias; x is (rows, in) as a matrix, the result has `shape`. A weight that stores is
// widened to float32, which x is.
struct LinearOptions {
    Shape shape;
    std::int64_t rows;
};
extern const Kernel<LinearOptions> linear_kernel;

extern const Kernel<Gelu> gelu_kernel;

// cross_entropy of logits (R, V) and targets (R,), both contiguous, of which those of ignore_index do not
// count.
struct ClassOptions {
    std::int64_t ignore_index;
};
extern const Kernel<ClassOptions> cross_entropy_kernel;

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
