// Products of vectors, over axes that are named, and by a formula of indices.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

Tensor outer(const Tensor& a, const Tensor& b);  // (m,), (n,) → (m, n): a_i · b_j
Tensor dot(const Tensor& a, const Tensor& b);    // (n,), (n,) → (): Σ a_i · b_i
// Σ over the last `axes` of a and the first of b, or over pairs of axes: the other axes of a, then of b.
// ShapeError if their sizes differ. Errors as matmul.
//
//     const Tensor a = ones({2, 3, 4}), b = ones({4, 3, 5});
//     const Tensor y = tensordot(a, b, {{1, 2}, {1, 0}});  // (2, 5), each 12
Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const std::pair<std::vector<int>, std::vector<int>>& axes);

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
