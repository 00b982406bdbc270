// Checks that a user runs on what they wrote: is this gradient right, does every parameter learn, is everything
// finite.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/nn/module.h"
#include "weft/ops.h"

namespace weft::check {

struct GradcheckOptions {
    double step = 1e-3;      // h, relative to max(1, |x|)
    double relative = 1e-8;  // allowed |expected − found| / max(1, |expected|)
    std::uint64_t seed = 1;  // of the random seed that the output is contracted with
};

struct GradcheckReport {
    bool passed = true;
    double largest_error = 0;  // over every element of every input
    std::size_t elements = 0;  // how many derivatives were compared
    std::string message;       // empty, or: operation, input, index, expected (differences), found (backward)
    explicit operator bool() const { return passed; }
};

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Compares backward's gradient of Σ(seed · f(inputs)) with central differences of order 8 (Fornberg,
// "Generation of finite difference formulas on arbitrarily spaced grids", Math. Comp. 51, 1988, table 1) at
// every element of every input that requires a gradient. Inputs may be views, strided or expanded. Also reports
// a function that is not deterministic or changes an input in place, a gradient that changes from one backward
// to the next, and one that is absent or not finite. DTypeError on a float32 input and on a result that is not
// float64; ValueError when no input requires a gradient.
GradcheckReport gradcheck(const std::string& operation, const Function& f, const std::vector<Tensor>& inputs,
                          GradcheckOptions options = {});

// The same for the gradients of f's gradients: f's gradient, made with create_graph, is checked as a function
// of the inputs and of the seed.
GradcheckReport gradgradcheck(const std::string& operation, const Function& f,
                              const std::vector<Tensor>& inputs, GradcheckOptions options = {});

struct FlowRow {
    std::string name;
    Shape shape;
    double norm = 0;      // ‖gradient‖₂
    std::string problem;  // "", "absent", "zero" or "not finite"
};
struct FlowReport {
    std::vector<FlowRow> rows;
    bool passed() const;
    std::string str() const;  // a table, a row per parameter, and what failed
    void print() const;       // str() to standard output
};
// After a backward: the norm of each parameter's gradient; fails where one is absent, all zero or not finite.
FlowReport gradient_flow(const nn::Module& module);

// ValueError, naming `what`, the first such index and its value, when x holds NaN or an infinity.
void check_finite(const Tensor& x, const std::string& what);

}  // namespace weft::check
