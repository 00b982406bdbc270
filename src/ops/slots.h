// The operations that src/fast computes at once, and what each is told besides its inputs.
#pragma once

#include "autograd/run.h"
#include "kernels/interface.h"
#include "ops/packed.h"
#include "weft/ops/attention.h"
#include "weft/ops/functions.h"
#include "weft/ops/heads.h"
#include "weft/ops/rotary.h"

namespace weft {

// linear of x, weight and bias; x is (rows, in) as a matrix, the result has `shape`.
struct LinearOptions {
    Shape shape;
    std::int64_t rows;
};
extern const Kernel<LinearOptions> linear_kernel;

// The same of x, bias and, where it is no block format, the weight in fewer bits.
struct CompactLinearOptions {
    CompactWeight weight;
    Shape shape;
    std::int64_t rows;
};
extern const Kernel<CompactLinearOptions> compact_linear_kernel;

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

// scaled_dot_product_attention of q, k and v, or the projection that they are columns of; the bias; and the
// tensors of the mask.
struct AttentionSetup {
    const char* caller;
    AttentionOptions options;                // completed
    std::vector<Tensor> documents, blocked;  // what the mask blocks beside keys after a query: its parts for
                                             // these sizes
    kernels::Dropout dropout = {};
    std::size_t n = 3;       // how many of the inputs are the heads: 3 or 1
    PackedHeads sizes = {};  // of the projection, without it
    Heads heads(const Inputs& in) const;
};
extern const Kernel<AttentionSetup> attention_kernel;

}  // namespace weft
