// The gradient ledger as a table.
#pragma once

#include <string>

#include "weft/nn/module.h"
#include "weft/watch/ledger.h"

namespace weft::viz {

// A table of the gradients in the order of the backward pass: a line for each term, and one for the sum if
// there are several. Empty for an empty ledger.
//
//     const Tensor x = tensor(3.0).requires_grad_(), y = x * x;
//     const GradientLedger ledger;
//     y.backward();
//     std::cout << viz::ledger_table(ledger, {{"x", x}, {"y", y}});
//     // node          gets from   gradient
//     // y = multiply  seed        1
//     // x             y, input 0  3
//     //               y, input 1  3
//     //               sum         6
//
// Tensors in `names` are shown by name; other operations and leaves are numbered if there are several of a
// kind. Gradients of up to 12 elements are printed in full, larger ones as shape and norm. "hook" is the
// gradient that a hook put in place of the sum. Each backward pass after the first has a heading.
std::string ledger_table(const GradientLedger& ledger, const nn::NamedTensors& names = {});

}  // namespace weft::viz
