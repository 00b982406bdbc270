// The graph: who takes part, how gradients are asked for, and how an operation is written.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// Operations are recorded only while this is true (per thread; true at first).
bool is_grad_enabled();

// While one of these lives, operations are not recorded (NoGrad) or are again (EnableGrad). They nest; the
// former mode comes back when they end, also by an exception.
class [[nodiscard]] GradMode {
public:
    explicit GradMode(bool enabled);  // from here on is_grad_enabled() is `enabled`
    ~GradMode();
    GradMode(const GradMode&) = delete;
    GradMode& operator=(const GradMode&) = delete;

private:
    bool before_;
};
// Operations are not recorded while it lives.
struct [[nodiscard]] NoGrad : GradMode {
    NoGrad() : GradMode(false) {}  // the mode before comes back when it ends
};
// Operations are recorded while it lives, within a NoGrad too.
struct [[nodiscard]] EnableGrad : GradMode {
    EnableGrad() : GradMode(true) {}  // the mode before comes back when it ends
};

// While one of these lives, every fused operation (linear, layer_norm, gelu, cross_entropy, attention) is
// computed by its readable definition from small operations, so that the textbook arithmetic can be stepped
// through.
class [[nodiscard]] Composed {
public:
    explicit Composed(bool composed = true);  // false: fused again, within another Composed
    ~Composed();
    Composed(const Composed&) = delete;
    Composed& operator=(const Composed&) = delete;

private:
    bool before_;
};
bool composed_mode();  // whether a Composed rules on this thread

// What `grad` leaves behind, and what it lets pass.
struct GradOptions {
    bool create_graph = false;  // the gradients are themselves part of the graph, for gradients of gradients
    bool retain_graph = false;  // keep saved values for another backward (create_graph implies it)
    bool allow_unused =
        false;  // an input that no output depends on gives an undefined tensor instead of GraphError
};

// Returns ∂(Σ_k grad_outputs_k · output_k)/∂x for each input x, in their order; leaves' grad() stays as it is.
// `grad_outputs` like the outputs, or empty where each output has one element.
[[nodiscard]] std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& grad_outputs = {}, GradOptions options = {});

// ---- how an operation is written
//
//     Tensor square(const Tensor& x) {
//         Tensor y;
//         { NoGrad off; y = x * x; }                          // the values, by any means
//         return record("square", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
//             const Tensor& x = saved[0];                     // y = x²:  dx = 2x · dy
//             return Grads{2 * x * dy};
//         });
//     }

// What a rule finds: the tensors that record was asked to keep, in their order, and which inputs want a
// gradient. With create_graph each kept tensor is a variable of its own in the graph, even where one tensor was
// passed twice or one input was computed from another, so a rule may call grad() on a function of them;
// otherwise they are outside the graph.
class Saved {
public:
    // For the engine, which makes it.
    Saved(std::vector<Tensor> tensors, std::vector<bool> needs)
        : tensors_(std::move(tensors)), needs_(std::move(needs)) {}
    const Tensor& operator[](std::size_t i) const { return tensors_.at(i); }     // the i-th kept
    bool needs_input_grad(std::size_t input) const { return needs_.at(input); }  // whether it wants a gradient

private:
    std::vector<Tensor> tensors_;
    std::vector<bool> needs_;
};

// One gradient per input, like that input; undefined where there is none (an index, a mask) or none is needed.
using Grads = std::vector<Tensor>;
// From what was kept and dy, the gradient of the result, to a gradient for each input.
using Vjp = std::function<Grads(const Saved& saved, const Tensor& dy)>;

// Returns y as the result of an operation on `inputs`; y must be new (not an input, not in the graph already).
// `save_for_backward` are the tensors that the rule needs again (inputs, y itself, or others); backward refuses
// when one of them was changed in place since. The rule is written with Weft's own operations, so that
// gradients of gradients need nothing more; it must not capture y. Where no input takes part in the graph, or
// under NoGrad, nothing is recorded and y is returned.
Tensor record(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& save_for_backward, Vjp vjp);

// The operation that made x, "leaf" for a leaf in the graph, "" outside it.
const char* operation_of(const Tensor& x);

}  // namespace weft
