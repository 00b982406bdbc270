// The gradient ledger as a table.
#pragma once

#include <string>

#include "weft/core/ledger.h"
#include "weft/nn/module.h"

namespace weft::viz {

// The gradients of a backward pass in its order: a line for each term, and one for the sum of several terms:
//     node     gets from        gradient
//     y = add  seed             1
//     a        y, input 1       1
//              s, input 0       1
//              sum              2
// Tensors listed in `names` have their name; other operations and leaves are numbered if several are alike. A
// gradient of up to 12 elements is printed whole, a larger one as its shape and norm. "hook" is the gradient
// with which a hook replaced the sum. Each further backward pass has a heading. Empty for an empty ledger.
std::string ledger_table(const GradientLedger& ledger, const nn::NamedTensors& names = {});

}  // namespace weft::viz
