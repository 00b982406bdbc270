// How to write an operation.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// What a gradient rule receives: the tensors that record was asked to save, in their order and outside the
// graph, and which inputs are in it. Under create_graph each of them that is in the graph, or is y, is a
// variable of its own instead, even if one was passed twice or computed from another, so a rule may call grad()
// on a function of them.
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

}  // namespace weft
