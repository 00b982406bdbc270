// How to write an operation.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/modes.h"
#include "weft/core/tensor.h"

namespace weft {

// What a gradient rule receives: the tensors that record was asked to save, in their order and outside the
// graph, and which inputs are in it. Under create_graph each of them that is in the graph, is y, or was
// computed on the way to it, is a variable of its own instead, even if one was passed twice or computed from
// another, so a rule may call grad() on a function of them.
class Saved {
public:
    // Used by the engine.
    Saved(std::vector<Tensor> tensors, std::vector<bool> needs)
        : tensors_(std::move(tensors)), needs_(std::move(needs)) {}
    const Tensor& operator[](std::size_t i) const;  // the i-th saved tensor; IndexError if there are fewer
    // Whether this input is in the graph (grad() may still drop its gradient); IndexError as above.
    bool needs_input_grad(std::size_t input) const;

private:
    std::vector<Tensor> tensors_;
    std::vector<bool> needs_;
};

// One gradient per input, with the input's shape and type; undefined if it has none (an index, a mask) or
// none is needed.
using Grads = std::vector<Tensor>;
// A gradient rule (vector–Jacobian product): maps the saved tensors and dy, the gradient of the result, to a
// gradient for each input. It changes none of them in place, because others hold them, too (GraphError).
// Backward runs it with is_grad_enabled() true under create_graph or in a jvp, so a rule with a fast formula
// can choose the differentiable one by that. There GraphError refuses a rule whose result would be taken for a
// constant: it reads elements of a tensor in the graph, uses a saved tensor that is neither input nor result,
// or does not depend on dy. detach() declares a tensor constant.
using Vjp = std::function<Grads(const Saved& saved, const Tensor& dy)>;
// The rule, which throws GraphError where it would be differentiated: for one that loops over elements. (As
// PyTorch's once_differentiable.)
Vjp once_differentiable(Vjp vjp);

// A tangent rule (Jacobian–vector product), of forward mode: maps the saved tensors and the tangents of the
// inputs, undefined where 0, to the tangent of y. An operation needs none, because jvp can transpose its
// gradient rule, which takes about twice as long.
using Jvp = std::function<Tensor(const Saved& saved, const std::vector<Tensor>& dx)>;

// Returns y, now in the graph as the result of an operation on `inputs`. Compute y by any means under NoGrad:
//
//     Tensor square(const Tensor& x) {
//         Tensor y;
//         {
//             const NoGrad off;
//             y = x * x;
//         }
//         return record("square", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
//             const Tensor& x = saved[0];  // y = x²:  dx = 2x · dy
//             return Grads{2 * x * dy};
//         });
//     }
//
// y must be new: GraphError if it is an input or already in the graph. `save_for_backward` lists the tensors
// that the rule needs (inputs, y itself, or others); backward throws GraphError if one of them has been
// changed in place since. A rule of Weft's own operations can be differentiated again, and so gives jvp the
// tangent of y; it must not capture y, which would own itself. Undefined tensors are allowed in `inputs`, and
// in `save_for_backward`, where they come back undefined. `operation` must outlive the graph: pass a string
// literal. If no input is in the graph, if y is neither float32 nor float64, or under NoGrad, nothing is
// recorded and y is returned as it is.
Tensor record(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& save_for_backward, Vjp vjp, Jvp jvp = nullptr);
// The same where ∂y_i/∂x_j = ∂y_j/∂x_i, as in any function of one element: then the gradient rule, with the
// tangent of x for dy, is the tangent rule, too. (Where y was broadcast from x, jvp transposes it.)
Tensor record_symmetric(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& save_for_backward, Vjp vjp);

// The name of the operation that computed x; "leaf" for a leaf in the graph, "" outside it.
//
//     const Tensor x = ones({2}).requires_grad_();
//     const std::string made_by = operation_of(exp(x));  // "exp"
const char* operation_of(const Tensor& x);

// How to write an operation that is computed at once, beside its definition in small operations.

// What a kernel has computed: the result, and what its rule needs besides the inputs.
struct FusedResult {
    Tensor y;                        // new, outside the graph
    std::vector<Tensor> saved = {};  // saved for backward, after the inputs; y may be one of them
};

// Returns y, the result of an operation on `inputs`, in the graph. Its definition, its kernel and its fast rule
// stand in one place, and this function alone chooses between them:
//
//     Tensor square_sum(const Tensor& x) {
//         const auto definition = [](const std::vector<Tensor>& in) { return sum(in[0] * in[0]); };
//         const auto kernel = [&] { return FusedResult{dot(x, x)}; };  // the same at once
//         return fused("square_sum", {x}, definition, kernel,
//                      [](const Saved& saved, const Tensor& dy) { return Grads{2 * dy * saved[0]}; });
//     }
//
// Under Plain(Plain::operations) `reference` runs on the inputs, and its small operations are what is recorded.
// Otherwise `kernel` runs, under NoGrad, and backward calls `rule` with the saved inputs, then
// FusedResult::saved, and dy (see record). Under create_graph, and where there is no rule, the gradient
// is that of `reference`, which is called again with the saved inputs: so gradients of any order agree.
// `reference` must not depend on anything that changes; an operation that draws keeps the state of its
// generator. Undefined inputs come back undefined. Refusals as record's.
Tensor fused(const char* operation, const std::vector<Tensor>& inputs,
             std::function<Tensor(const std::vector<Tensor>& inputs)> reference,
             const std::function<FusedResult()>& kernel, Vjp rule = nullptr);

// How to ask for gradients.

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

// Internal: Tensors that a function of the user's is given and must not change, because others hold them, too.

// While it is alive, in-place changes on this thread of what shares memory with these tensors are refused. What
// it is made of must outlive it.
class [[nodiscard]] Lent {
public:
    // `to` and `of` begin the message: who was given the tensors.
    explicit Lent(std::string_view to, std::span<const Tensor> tensors = {}, std::string_view of = "");
    virtual ~Lent() = default;
    // GraphError, naming the operation on x, if x shares memory with what is lent.
    static void check(const char* operation, const Tensor& x) {
        if (current_ != nullptr) [[unlikely]]
            current_->refuse(operation, x);
    }

private:
    virtual bool holds(const Tensor& x) const;
    virtual std::string to() const { return std::string(to_).append(of_); }
    void refuse(const char* operation, const Tensor& x) const;

    static constinit inline thread_local const Lent* current_ = nullptr;
    const Lent* const outer_;
    const std::string_view to_, of_;
    const std::span<const Tensor> tensors_;
    const Scoped<const Lent*> here_;
};

}  // namespace weft
