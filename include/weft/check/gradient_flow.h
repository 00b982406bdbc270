// What reaches the parameters of a module.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/nn/module.h"

namespace weft::check {

// One parameter and its gradient.
//
//     nn::Linear layer(3, 2);
//     sum(layer(ones({1, 3}))).backward();
//     for (const check::FlowRow& row : check::gradient_flow(layer).rows)
//         norms[row.name] = row.norm;  // weight and bias
struct FlowRow {
    std::string name;     // name in named_parameters()
    Shape shape;          // the parameter's shape
    double norm = 0;      // ‖gradient‖₂
    std::string problem;  // "", "absent", "zero" or "not finite"
    bool frozen = false;  // does not require a gradient, which is no problem
};
// The parameters of a module and their gradients.
struct FlowReport {
    std::vector<FlowRow> rows;  // in the order of named_parameters()
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
// of the values. A gradient of exactly 0, as of a key's bias, is not an error but "zero" in the report.
FlowReport first_step(const nn::Module& module, double lr, const std::function<void()>& step);

// Throws ValueError, naming `what`, the first index and its value, when x holds NaN or an infinity.
//
//     check::check_finite(y, "output");  // ValueError: output: nan at (0, 1) of (2, 2) is not finite
void check_finite(const Tensor& x, const std::string& what);

}  // namespace weft::check
