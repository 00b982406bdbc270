#include "core/run.h"

#include "core/node.h"
#include "weft/core/modes.h"
#include "weft/core/op.h"
#include "weft/core/record.h"

namespace weft {

std::vector<Tensor> inputs_again(const Saved& saved, std::size_t n) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < n; ++i)
        inputs.push_back(saved.needs_input_grad(i) && !is_grad_enabled() ? saved[i].detach().requires_grad_()
                                                                         : saved[i]);
    return inputs;
}

Grads gradients_again(const Tensor& y, const std::vector<Tensor>& inputs, const Saved& saved, const Tensor& dy,
                      bool create_graph) {
    std::vector<Tensor> wanted;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (saved.needs_input_grad(i)) wanted.push_back(inputs[i]);
    Grads all(inputs.size());
    if (!y.requires_grad()) return all;
    const std::vector<Tensor> found =
        grad({y}, wanted, {dy}, {.create_graph = create_graph, .allow_unused = true});
    for (std::size_t i = 0, next = 0; i < inputs.size(); ++i)
        if (saved.needs_input_grad(i)) all[i] = found[next++];
    return all;
}

Tensor run(const char* name, const std::vector<Tensor>& inputs,
           std::function<Tensor(const std::vector<Tensor>& inputs)> definition,
           const std::function<std::optional<FusedResult>()>& kernel, Vjp rule) {
    if (kernel && !is_plain(Plain::operations) && forward_mode == nullptr) {
        const Op here(name);
        std::optional<FusedResult> computed;
        {
            const NoGrad off;
            computed = kernel();
        }
        if (computed) {
            std::vector<Tensor> to_save = inputs;
            to_save.insert(to_save.end(), computed->saved.begin(), computed->saved.end());
            return record(name, std::move(computed->y), inputs, to_save,
                          [n = inputs.size(), definition = std::move(definition), rule = std::move(rule)](
                              const Saved& saved, const Tensor& dy) {
                              const bool create_graph = is_grad_enabled();
                              if (rule && !create_graph) return rule(saved, dy);
                              const std::vector<Tensor> in = inputs_again(saved, n);
                              const EnableGrad on;
                              return gradients_again(definition(in), in, saved, dy, create_graph);
                          });
        }
    }
    // Its gradient will be that of these steps, so none may read elements of what is in the graph.
    const Scoped<const char*> differentiated(differentiated_rule, name);
    const Lent lent(name, inputs);
    return definition(inputs);
}

Tensor fused(const char* operation, const std::vector<Tensor>& inputs,
             std::function<Tensor(const std::vector<Tensor>& inputs)> reference,
             const std::function<FusedResult()>& kernel, Vjp rule) {
    return run(operation, inputs, std::move(reference), kernel, std::move(rule));
}

}  // namespace weft
