#include "weft/autograd/fused.h"

#include "weft/autograd/grad.h"
#include "weft/autograd/grad_mode.h"

namespace weft {
namespace {

// The gradients of reference(inputs), whose inputs are the first n saved tensors; differentiable themselves
// under create_graph, where the saved tensors are variables.
Grads of_reference(const std::function<Tensor(const std::vector<Tensor>&)>& reference, std::size_t n,
                   const Saved& saved, const Tensor& dy) {
    const bool create_graph = is_grad_enabled();
    const EnableGrad on;
    std::vector<Tensor> inputs, wanted;
    for (std::size_t i = 0; i < n; ++i) {
        const bool needed = saved.needs_input_grad(i);
        inputs.push_back(needed && !create_graph ? saved[i].detach().requires_grad_() : saved[i]);
        if (needed) wanted.push_back(inputs.back());
    }
    Grads all(n);
    const Tensor y = reference(inputs);
    if (!y.requires_grad()) return all;
    const std::vector<Tensor> found =
        grad({y}, wanted, {dy}, {.create_graph = create_graph, .allow_unused = true});
    for (std::size_t i = 0, next = 0; i < n; ++i)
        if (saved.needs_input_grad(i)) all[i] = found[next++];
    return all;
}

}  // namespace

Tensor fused(const char* operation, const std::vector<Tensor>& inputs,
             std::function<Tensor(const std::vector<Tensor>& inputs)> reference,
             const std::function<FusedResult()>& kernel, Vjp rule) {
    if (composed_mode()) return reference(inputs);
    FusedResult computed;
    {
        const NoGrad off;
        computed = kernel();
    }
    std::vector<Tensor> to_save = inputs;
    to_save.insert(to_save.end(), computed.saved.begin(), computed.saved.end());
    return record(operation, std::move(computed.y), inputs, to_save,
                  [n = inputs.size(), reference = std::move(reference), rule = std::move(rule)](
                      const Saved& saved, const Tensor& dy) {
                      return rule && !is_grad_enabled() ? rule(saved, dy)
                                                        : of_reference(reference, n, saved, dy);
                  });
}

}  // namespace weft
