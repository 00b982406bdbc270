// Sums of products by a formula of indices.
#pragma once

#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// A sum of products by indices (Einstein, 1916, §5): axes with the same letter are multiplied together, and
// those that the result does not name are summed. Without ->, the result has the letters that occur once, in
// alphabetical order. "..." stands for the axes that have no letter, aligned from the right and broadcast;
// without -> the result begins with them. ValueError, quoting the formula, if it does not fit the tensors.
//
//     const Tensor scores = einsum("bhtd,bhsd->bhts", {q, k});   // q kᵀ of each head
//     const Tensor same = einsum("...td,...sd->...ts", {q, k});  // and of (T, d) or (H, T, d) too
Tensor einsum(const std::string& formula, const std::vector<Tensor>& operands);
template <class... T>
Tensor einsum(const std::string&, const Tensor&, const Tensor&, const T&...) = delete;  // with {a, b}

}  // namespace weft
