// How to ask for gradients.
#pragma once

#include <functional>
#include <vector>

#include "weft/core/grad_mode.h"
#include "weft/core/tensor.h"

namespace weft {

// Options of `grad`.
struct GradOptions {
    bool create_graph = false;  // records the gradients too, for gradients of gradients
    bool retain_graph = false;  // keeps the saved tensors for another backward; implied by create_graph
    bool allow_unused = false;  // undefined instead of GraphError for an input that no output depends on
    // If given, called with i and the gradient of input i, which it may keep and change; for a leaf as soon as
    // it is complete, while backward continues. The list that grad returns is then empty.
    std::function<void(std::size_t, Tensor)> ready = {};
};

// Returns ∂(Σ_k grad_outputs_k · output_k)/∂x for each input x, in their order, and leaves every grad() as it
// is. Each of grad_outputs has its output's shape and type; leave the list empty if every output has one
// element. ValueError if the lists differ in length; GraphError if no output depends on an input (see
// allow_unused) or an input is outside the graph; otherwise the errors of Tensor::backward.
//
//     const Tensor x = tensor({2.0, 3}).requires_grad_();
//     const Tensor y = sum(x * x * x);
//     const Tensor dx = grad({y}, {x}, {}, {.create_graph = true})[0];  // 3x² = [12, 27]
//     const Tensor ddx = grad({sum(dx)}, {x})[0];                       // 6x = [12, 18]
//     // x.grad().defined() is false
[[nodiscard]] std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& grad_outputs = {}, GradOptions options = {});

}  // namespace weft
