// Derivatives of functions, under the names of torch.autograd.functional: products with the Jacobian J, the
// matrix of the derivatives of the outputs with respect to the inputs, and with the Hessian H, that of the
// second derivatives of one number.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/random.h"
#include "weft/core/tensor.h"

namespace weft {

// A function to differentiate. It takes one tensor, or a list, and returns a tensor, or a list:
//
//     const TensorFunction square = [](const Tensor& x) { return x * x; };
//     const TensorFunction both = [](const std::vector<Tensor>& in) { return in[0] * in[1]; };
//     const Tensor y = both({square({2 * ones({2})})[0], ones({2})})[0];  // [4, 4]
class TensorFunction {
public:
    using List = std::vector<Tensor>;  // what a function of several tensors takes
    // Whether f may be called with one tensor, and returns a tensor or a list.
    template <class F>
    static constexpr bool takes_tensor = std::is_invocable_r_v<Tensor, const F&, const Tensor&> ||
                                         std::is_invocable_r_v<List, const F&, const Tensor&>;
    // Whether it may be called with a list of them.
    template <class F>
    static constexpr bool takes_list = std::is_invocable_r_v<Tensor, const F&, const List&> ||
                                       std::is_invocable_r_v<List, const F&, const List&>;

    // From a lambda, a function or a module. It does not compile unless f takes one tensor or one list.
    template <class F>
    TensorFunction(F f) requires(!std::is_same_v<F, TensorFunction>) {
        if constexpr (takes_tensor<F>) {
            call_ = [f](const List& in) { return as_list(f(only(in))); };
        } else {
            static_assert(
                takes_list<F>,
                "a function to differentiate takes one tensor, as in [](const Tensor& x) { return x * "
                "x; }, or a list, const std::vector<Tensor>&, and returns a tensor or a list");
            call_ = [f](const List& in) { return as_list(f(in)); };
        }
    }
    List operator()(const List& inputs) const;  // the outputs; GraphError if f changes an input in place

private:
    static const Tensor& only(const List& inputs);  // ValueError unless there is one
    static List as_list(Tensor y) { return {std::move(y)}; }
    static List as_list(List y) { return y; }
    std::function<List(const List&)> call_;
};

// Returns the outputs of f and J v, their derivatives as each input moves along its tensor of v, which has
// the input's shape and type, or is undefined where the input does not move. Forward mode: it is computed
// along with the outputs, for two to four times their cost, and needs no graph, so memory does not grow with
// the depth of f. One product with the derivatives of any number of outputs; the whole Jacobian takes one for
// each element of the inputs.
//
//     const auto [y, dy] = jvp([](const Tensor& x) { return x * x; }, tensor({1.0, 2}), tensor({1.0, 10}));
//     // y = [1, 4], dy = 2x · v = [2, 40]
//
// In f, is_grad_enabled() is true and is_plain(Plain::operations) too: fused operations run their reference
// implementations. What is computed under NoGrad, or detached, is constant, as in backward. So are tensors from
// outside, whose history is not recorded; if create_graph is true it is, and results are in the graph. Outputs
// that do not depend on the inputs have a derivative of 0. Products nest: f may call jvp, vjp, grad or
// backward. In-place changes of what depends on the inputs are refused (GraphError), under NoGrad when such a
// tensor is used next. DTypeError for inputs and outputs that are neither float32 nor float64; ValueError,
// ShapeError or DTypeError unless v fits; GraphError for an operation whose gradient rule is not recorded.
std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(const TensorFunction& f,
                                                        const std::vector<Tensor>& inputs,
                                                        const std::vector<Tensor>& v,
                                                        bool create_graph = false);
// The same of a function of one tensor, with one output.
std::pair<Tensor, Tensor> jvp(const TensorFunction& f, const Tensor& x, const Tensor& v,
                              bool create_graph = false);
// Whether a jvp runs on this thread, outside NoGrad.
//
//     const auto f = [](const Tensor& x) { return jvp_mode() ? x : -x; };
//     const Tensor y = jvp(f, ones({}), ones({})).first;  // 1
bool jvp_mode();

// Returns the outputs of f and Jᵀ v, the gradients of Σ v_k · output_k for the inputs; v may be left out if
// each output has one element, and is 1. Reverse mode: backward, at the cost of a few evaluations of f
// whatever the number of inputs. An input that no output depends on has a gradient of 0. With create_graph
// results are in the graph. Refusals as those of jvp.
//
//     const auto [y, dx] = vjp([](const Tensor& x) { return x * x; }, tensor({1.0, 2}), tensor({1.0, 10}));
//     // y = [1, 4], dx = v · 2x = [2, 40]
std::pair<std::vector<Tensor>, std::vector<Tensor>> vjp(const TensorFunction& f,
                                                        const std::vector<Tensor>& inputs,
                                                        const std::vector<Tensor>& v = {},
                                                        bool create_graph = false);
// The same of a function of one tensor, with one output.
std::pair<Tensor, Tensor> vjp(const TensorFunction& f, const Tensor& x, const Tensor& v = {},
                              bool create_graph = false);

// How jacobian computes: a row is a vjp, which is cheap for few outputs of many inputs, and a column a jvp, for
// many outputs of few inputs.
enum class Strategy {
    reverse_mode,  // row by row
    forward_mode   // column by column: f is called for each, with the same draws from default_rng()
};

// Options of `jacobian`.
struct JacobianOptions {
    bool create_graph = false;                   // the result is in the graph
    Strategy strategy = Strategy::reverse_mode;  // rows or columns; the values are equal up to rounding
};

// Returns J: the tensor [k][i] holds the derivatives of output k with respect to input i, in the shape of the
// output followed by that of the input. Refusals as those of jvp; GraphError if f computes other values for
// another column, as with dropout from a generator of its own.
//
//     const auto f = [](const Tensor& x) { return x * x; };
//     const Tensor rows = jacobian(f, tensor({1.0, 2}));  // (2, 2): [[2, 0], [0, 4]]
//     const Tensor columns = jacobian(f, tensor({1.0, 2}), {.strategy = Strategy::forward_mode});
//     // columns = [[2, 0], [0, 4]]
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                          const JacobianOptions& options = {});
// The same of a function of one tensor, with one output.
Tensor jacobian(const TensorFunction& f, const Tensor& x, const JacobianOptions& options = {});

// Returns H of a function with one output of one element: the tensor [i][j] holds the derivatives of the
// gradient of input i with respect to input j, in the shape of the one followed by that of the other.
// ShapeError unless f returns one element; refusals as those of jvp.
//
//     const auto f = [](const Tensor& x) { return sum(x * x * x); };
//     const Tensor H = hessian(f, tensor({1.0, 2}));  // (2, 2): [[6, 0], [0, 12]]
std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                         bool create_graph = false);
// The same of a function of one tensor.
Tensor hessian(const TensorFunction& f, const Tensor& x, bool create_graph = false);

// Returns the value of f and H v, without H (B. Pearlmutter, "Fast exact multiplication by the Hessian", 1994).
// It is the jvp of the gradient, forward over reverse, which takes two thirds of the time of backward through
// backward, and less memory. Refusals as those of hessian and jvp.
//
//     const auto f = [](const Tensor& x) { return sum(x * x * x); };
//     const auto [y, Hv] = hvp(f, tensor({1.0, 2}), tensor({1.0, 1}));  // y = 9, Hv = [6, 12]
std::pair<Tensor, std::vector<Tensor>> hvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v, bool create_graph = false);
// The same of a function of one tensor.
std::pair<Tensor, Tensor> hvp(const TensorFunction& f, const Tensor& x, const Tensor& v,
                              bool create_graph = false);

// Less memory for more arithmetic: what lies between is computed again in backward.

// Returns f(inputs), and keeps the inputs, the parameters and the result for backward: the tensors in between
// are computed again there (Chen et al., "Training deep nets with sublinear memory cost", 2016, §4;
// torch.utils.checkpoint). Values and gradients have the bits that they have without it; gradients of gradients
// are equal to rounding.
//
//     const auto block = [&](const std::vector<Tensor>& in) { return tanh(matmul(in[0], w)); };
//     const Tensor y = checkpoint(block, {x}, {w});  // as block({x})
//
// `parameters` are what f uses besides its inputs and what is to have a gradient, and `generators` what it
// draws from besides default_rng(): they draw the same numbers again, and are left as they were. A module's own
// are in nn::checkpoint. f's result is new, not an input, and f changes no input in place: GraphError
// otherwise. Backward throws GraphError if f depends on a tensor of the graph that was not named (checkpoint
// itself does if nothing that was named requires a gradient), or if what it computes the second time has other
// bits: a mode (nn::EvalMode, Plain) or a generator has changed. If f throws, the generators are as before.
Tensor checkpoint(const std::function<Tensor(const std::vector<Tensor>& inputs)>& f,
                  const std::vector<Tensor>& inputs, const std::vector<Tensor>& parameters = {},
                  const std::vector<std::shared_ptr<Rng>>& generators = {});

}  // namespace weft
