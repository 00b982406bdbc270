// The graph: which operations are recorded, how to ask for gradients, and how to write an operation.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// Guards are made of this: a variable has another value until the object goes out of scope.
//
//     int depth = 1;
//     const Scoped<int> deeper(depth, 2);  // depth is 2
template <class T>
class Scoped {
public:
    // From now on the variable has this value; the destructor restores the previous one.
    Scoped(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
    ~Scoped() { variable_ = before_; }
    Scoped(const Scoped&) = delete;
    Scoped& operator=(const Scoped&) = delete;

private:
    T& variable_;
    const T before_;
};

// Whether this thread records operations; true at first.
//
//     const Tensor w = ones({2}).requires_grad_();
//     const NoGrad off;
//     const bool recorded = is_grad_enabled();  // false
//     const EnableGrad on;
//     const std::string last = operation_of(w * 2);  // "multiply"
//     const GradMode mode(false);                    // as NoGrad, from a value
//     const std::string none = operation_of(w * 2);  // "": not recorded
bool is_grad_enabled();

// Turns recording off (NoGrad) or on (EnableGrad) in this thread until the guard goes out of scope, which
// restores the previous mode. Guards nest.
//
//     const Tensor w = ones({2}).requires_grad_();
//     Tensor y;
//     {
//         const NoGrad off;
//         y = w * 2;  // not recorded: y.requires_grad() is false
//     }
//     const Tensor z = w * 2;  // recorded
class [[nodiscard]] GradMode {
public:
    explicit GradMode(bool enabled);  // is_grad_enabled() becomes `enabled`

private:
    Scoped<bool> mode_;
};
// Stops recording.
struct [[nodiscard]] NoGrad : GradMode {
    NoGrad() : GradMode(false) {}  // until it goes out of scope
};
// Resumes recording inside a NoGrad.
struct [[nodiscard]] EnableGrad : GradMode {
    EnableGrad() : GradMode(true) {}  // until it goes out of scope
};

// While a Composed guard is active, every fused operation (linear, layer_norm, gelu, cross_entropy,
// attention) runs its reference implementation, built from small operations, so you can step through the
// textbook arithmetic. Guards nest and belong to one thread.
//
//     const Tensor x = randn({4, 8}, rng);
//     const Tensor fast = gelu(x);
//     const Composed readable;
//     const Tensor slow = gelu(x);  // the same values up to rounding
class [[nodiscard]] Composed {
public:
    explicit Composed(bool composed = true);  // false: fused again, inside another Composed

private:
    Scoped<bool> mode_;
};
// Whether a Composed guard is active in this thread.
//
//     const Composed readable;
//     const bool composed = composed_mode();  // true
bool composed_mode();

// Options of `grad`.
struct GradOptions {
    bool create_graph = false;  // records the gradients too, for gradients of gradients
    bool retain_graph = false;  // keeps the saved tensors for another backward; implied by create_graph
    bool allow_unused = false;  // undefined instead of GraphError for an input that no output depends on
    // If given, called with i and the gradient of input i, which it may keep and change; for a leaf as soon as
    // it is complete, while backward goes on. The list that grad returns is then empty.
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
[[nodiscard]] std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& grad_outputs = {}, GradOptions options = {});

// ---- writing an operation

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
// gradient for each input. Backward runs it with is_grad_enabled() true exactly under create_graph, so a rule
// with a fast formula can choose the differentiable one by that.
using Vjp = std::function<Grads(const Saved& saved, const Tensor& dy)>;

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
// changed in place since. A rule of Weft's own operations can be differentiated again; it must not capture y,
// which would own itself. Undefined tensors are allowed in `inputs`, and in `save_for_backward`, where they
// come back undefined. `operation` must outlive the graph: pass a string literal. If no input is in the graph,
// if y is int64 or bool, or under NoGrad, nothing is recorded and y is returned as it is.
Tensor record(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& save_for_backward, Vjp vjp);

// The name of the operation that computed x; "leaf" for a leaf in the graph, "" outside it.
const char* operation_of(const Tensor& x);

}  // namespace weft
