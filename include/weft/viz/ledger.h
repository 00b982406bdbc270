// The gradient ledger as a table.
#pragma once

#include <string>

#include "weft/core/ledger.h"
#include "weft/nn/module.h"

namespace weft::viz {

// What each edge gave, in the order in which backward went, a line per term and one for a sum of several:
//     node     gets from        gradient
//     y = add  seed             1
//     a        y, input 1       1
//              s, input 0       1
//              sum              2
// Tensors listed in `names` carry their name; other operations and leaves are numbered where several are alike.
// A gradient of up to 12 elements is told whole, a larger one as its shape and norm. "hook" is what a hook put
// in the sum's place. Empty for an empty ledger; each further backward has a heading.
std::string ledger_table(const GradientLedger& ledger, const nn::NamedTensors& names = {});

}  // namespace weft::viz
