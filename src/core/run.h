// Operations that something may compute at once.
#pragma once

#include <optional>
#include <vector>

#include "core/kernels.h"
#include "weft/core/attention.h"
#include "weft/core/record.h"

namespace weft {

using Inputs = std::vector<Tensor>;

// What stands in an operation's slot, one for each in src/fast beside the line that installs it; nothing where
// a program is linked without (src/fast/none.cpp).
template <class Options>
struct Kernel {
    // The result, outside the graph, or nothing where the definition has to run.
    std::optional<FusedResult> (*kernel)(const Inputs& inputs, const Options& options) = nullptr;
    // The gradients of the inputs, from those and what the kernel saved after them; null: the definition's.
    Grads (*rule)(const Saved& saved, const Tensor& dy, const Options& options) = nullptr;
};

// fused (weft/core/record.h) with the kernel of a slot, if there is one and it does not decline. The
// definition is computed again for gradients of gradients, so it draws nothing: options hold the draws'
// positions. Tensors in options are inputs, too, so that backward notices if they were changed in place.
Tensor run(const char* name, const Inputs& inputs, std::function<Tensor(const Inputs&)> definition,
           const std::function<std::optional<FusedResult>()>& kernel, Vjp rule);
template <class Options>
Tensor run(const char* name, const Inputs& inputs, const Options& options,
           Tensor (*definition)(const Inputs& inputs, const Options& options), const Kernel<Options>& slot) {
    std::function<std::optional<FusedResult>()> kernel;
    Vjp rule;
    if (slot.kernel != nullptr) kernel = [&] { return slot.kernel(inputs, options); };
    if (slot.rule != nullptr)
        rule = [options, rule = slot.rule](const Saved& saved, const Tensor& dy) {
            return rule(saved, dy, options);
        };
    return run(
        name, inputs, [options, definition](const Inputs& in) { return definition(in, options); }, kernel,
        rule);
}

// The operations of the core that src/fast computes at once, and what each is told besides its inputs.

// linear of x, weight and bias; x is (rows, in) as a matrix, the result has `shape`. A weight that stores is
// widened to float32, which x is.
struct LinearOptions {
    Shape shape;
    std::int64_t rows;
};
extern const Kernel<LinearOptions> linear_kernel;

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
