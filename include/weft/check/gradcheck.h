// Checks for code of your own: is this gradient right, does every parameter learn, is every number finite?
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/nn/module.h"

namespace weft::check {

// Options of gradcheck and gradgradcheck.
struct GradcheckOptions {
    double eps = 1e-3;        // step h of the differences, relative to max(1, |x|)
    double tolerance = 1e-8;  // allowed |expected − found| / max(1, |expected|)
    std::uint64_t seed = 1;   // seed of the random weights that reduce the output to one number
    // Leaves that the function uses besides its inputs; checked too. Their values change during the check, and
    // are restored.
    std::vector<Tensor> parameters = {};
};

// The result of gradcheck; true if it passed.
struct GradcheckReport {
    bool passed = true;                                // whether every derivative agrees
    double largest_error = 0;                          // over every element of every input
    std::size_t elements = 0;                          // number of derivatives compared
    std::string message;                               // empty, or operation, input, index, expected and found
    explicit operator bool() const { return passed; }  // for REQUIRE(gradcheck(…))
};

// A function to check, from tensors to one tensor.
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Compares the gradient of Σ(seed · f(inputs)) with central differences of order 8 (Fornberg, "Generation of
// finite difference formulas on arbitrarily spaced grids", Math. Comp. 51, 1988, table 1) at every element of
// every input that requires a gradient, and by three routes: grad, backward, and grad with create_graph. Inputs
// may be views. Also reports a function that is not deterministic, and a gradient that is absent, not finite,
// or differs between two passes. DTypeError unless the inputs (except integers), the parameters and the result
// are float64; ValueError when no input or parameter requires a gradient; GraphError if f changes an input in
// place. Leaves inputs, parameters and their grad() as they were, also when f throws.
//
//     const Tensor x = randn({3, 4}, rng, float64).requires_grad_();
//     const auto report = check::gradcheck("gelu", [](const auto& in) { return gelu(in[0]); }, {x});
//     if (!report) std::cout << report.message;
//
// A module in float64, with all its parameters:
//
//     attention.to(float64);
//     const auto all = check::gradcheck("attention", [&](const auto& in) { return attention(in[0]); }, {x},
//                                       {.parameters = attention.parameters()});
GradcheckReport gradcheck(const std::string& operation, const Function& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options = {});

// gradcheck of f and, if it passes, of f's gradient under create_graph, as a function of inputs and seed.
//
//     const Tensor x = tensor({0.3, -0.7}, float64).requires_grad_();
//     const auto f = [](const std::vector<Tensor>& in) { return tanh(in[0]); };
//     const bool fine = check::gradgradcheck("tanh", f, {x}).passed;  // true
GradcheckReport gradgradcheck(const std::string& operation, const Function& f,
                              const std::vector<Tensor>& inputs, GradcheckOptions options = {});

// What reaches the parameters of a module.

// One parameter and its gradient.
//
//     nn::Linear layer(3, 2);
//     sum(layer(ones({1, 3}))).backward();
//     for (const check::FlowRow& row : check::gradient_flow(layer).rows)
//         norms[row.name] = row.norm;  // weight and bias
struct FlowRow {
    std::string name;        // name in named_parameters()
    Shape shape;             // the parameter's shape
    double norm = 0;         // ‖gradient‖₂
    std::string problem;     // "", "absent", "zero", "not finite" or "not registered"
    bool frozen = false;     // does not require a gradient, which is no problem
    bool registered = true;  // false for what the loss depends on besides the parameters
};
// The parameters of a module and their gradients.
struct FlowReport {
    std::vector<FlowRow> rows;  // in the order of named_parameters(), then what is not registered
    bool passed() const;        // whether no row has a problem
    std::string str() const;    // a table, one row per parameter
    void print() const;         // prints str()
};
// Call after backward: the norm of each parameter's gradient, and a problem if it is absent, 0 or not finite.
//
//     loss_of(batch()).backward();
//     const check::FlowReport report = check::gradient_flow(model);
//     if (!report.passed()) report.print();
FlowReport gradient_flow(const nn::Module& module);
// The same, and a row for each other tensor that requires a gradient and that `loss`, on which backward was
// called, depends on. A parameter of another module has the problem "not registered", because a child that was
// not registered has those, and nothing trains them; freeze a module that is used on purpose. Its name begins
// with the kind of the outermost module that has it. A tensor in no module may be an input, and is no problem:
// its name is the operation that uses it. Parts of the model that `module` is a part of have no row. GraphError
// if loss is undefined.
//
//     const Tensor loss = loss_of(batch());
//     loss.backward();
//     check::gradient_flow(model, loss).print();
FlowReport gradient_flow(const nn::Module& module, const Tensor& loss);

// Calls `step`, the first training step (forward, backward, optimiser; do not clear the gradients), checks that
// every parameter learns, and returns gradient_flow's report:
//
//     check::first_step(model, optimizer.lr(), [&] {
//         loss_of(batch()).backward();
//         optimizer.step();
//     });
//
// GraphError, with name and reason, for each parameter that gets no gradient, whose gradient or values hold NaN
// or an infinity, or that does not change although neither its gradient nor lr is 0. Exempt are parameters that
// do not require a gradient, and changes that rounding may swallow, where lr · min(1, |g|) is below the spacing
// of the values. GraphError, too, for a parameter of another module that the loss depends on and that the step
// does not change: see gradient_flow(module, loss). A gradient of exactly 0, as of a key's bias, is not an
// error but "zero" in the report.
FlowReport first_step(const nn::Module& module, double lr, const std::function<void()>& step);

// Throws ValueError, naming `what`, the first index and its value, when x holds NaN or an infinity.
//
//     check::check_finite(y, "output");  // ValueError: output: nan at (0, 1) of (2, 2) is not finite
void check_finite(const Tensor& x, const std::string& what);

}  // namespace weft::check
