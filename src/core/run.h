// Operations that something may compute at once.
#pragma once

#include <optional>
#include <vector>

#include "weft/core/fused.h"

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

// fused (weft/core/fused.h) with the kernel of a slot, if there is one and it does not decline. The
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

}  // namespace weft
