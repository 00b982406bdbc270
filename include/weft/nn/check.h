// Checks that a user runs on what they wrote: is this gradient right, does every parameter learn, is everything
// finite.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/ops.h"
#include "weft/nn/module.h"

namespace weft::check {

// How finely differences are taken, and how close they have to come.
struct GradcheckOptions {
    double eps = 1e-3;        // h, relative to max(1, |x|)
    double tolerance = 1e-8;  // allowed |expected − found| / max(1, |expected|)
    std::uint64_t seed = 1;   // of the random seed that the output is contracted with
};

// What a gradient check found; true where it passed.
struct GradcheckReport {
    bool passed = true;        // every derivative is as it should be
    double largest_error = 0;  // over every element of every input
    std::size_t elements = 0;  // how many derivatives were compared
    std::string message;       // empty, or: operation, input, index, expected (differences), found (backward)
    explicit operator bool() const { return passed; }  // so that REQUIRE(gradcheck(…)) reads well
};

// What is checked: any function from tensors to one tensor.
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Compares backward's gradient of Σ(seed · f(inputs)) with central differences of order 8 (Fornberg,
// "Generation of finite difference formulas on arbitrarily spaced grids", Math. Comp. 51, 1988, table 1) at
// every element of every input that requires a gradient, and the routes with each other: grad, backward, and
// grad with create_graph. Inputs may be views, strided or expanded. Also reports a function that is not
// deterministic or changes an input in place, a gradient that changes from one backward to the next, and one
// that is absent or not finite. DTypeError on a float32 input and on a result that is not
// float64; ValueError when no input requires a gradient.
GradcheckReport gradcheck(const std::string& operation, const Function& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options = {});

// gradcheck of f, and where that passes, of f's gradient: made with create_graph, it is checked as a function
// of the inputs and of the seed.
GradcheckReport gradgradcheck(const std::string& operation, const Function& f,
                              const std::vector<Tensor>& inputs, GradcheckOptions options = {});

// One parameter, and what reached it.
struct FlowRow {
    std::string name;     // as named_parameters() gives it
    Shape shape;          // of the parameter
    double norm = 0;      // ‖gradient‖₂
    std::string problem;  // "", "absent", "zero" or "not finite"
    bool frozen = false;  // it does not require a gradient, and has no problem
};
// A module's parameters, and which of them a gradient reaches.
struct FlowReport {
    std::vector<FlowRow> rows;  // in the order of named_parameters()
    bool passed() const;        // no row has a problem
    std::string str() const;    // a table, a row per parameter, and what failed
    void print() const;         // str() to standard output
};
// After a backward: the norm of each parameter's gradient; fails where one is absent, all zero or not finite.
FlowReport gradient_flow(const nn::Module& module);

// Runs `step`, the first of a training at the rate lr (forward, backward, the optimiser's step; gradients
// stay), and makes sure that every parameter learns by it:
//
//     check::first_step(model, optimizer.lr(), [&] {
//         loss_of(batch()).backward();
//         optimizer.step();
//     });
//
// GraphError, naming the parameter and why, for each that gets no gradient, whose gradient or values hold NaN
// or an infinity, or that does not change although its gradient is not 0 and lr is not. Exempt: a parameter
// that does not require a gradient; a change that rounding may swallow, where lr · min(1, |g|) is below the
// spacing of the values' type. A gradient that is exactly 0, as a key's bias has it, is no error: it is "zero"
// in the report, which is gradient_flow's.
FlowReport first_step(const nn::Module& module, double lr, const std::function<void()>& step);

// ValueError, naming `what`, the first such index and its value, when x holds NaN or an infinity.
void check_finite(const Tensor& x, const std::string& what);

}  // namespace weft::check
