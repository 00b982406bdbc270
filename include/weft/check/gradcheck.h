// Checks for code of your own: is this gradient right, does every parameter learn, is every number finite? The
// last two are in gradient_flow.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

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

}  // namespace weft::check
