// Rotary positions (Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021, §3.2).
#pragma once

#include "weft/autograd/tensor.h"

namespace weft::nn {

// Rotates each pair of neighbours (x₂ᵢ, x₂ᵢ₊₁) of the token at position p by the angle p · base^(−2i/d):
// y₂ᵢ = x₂ᵢ cos − x₂ᵢ₊₁ sin, y₂ᵢ₊₁ = x₂ᵢ sin + x₂ᵢ₊₁ cos. The dot product of a query at position i and a key at
// position j then depends on i − j only. x (…, T, d) → the same shape; the first token is at first_position.
// The pairs are the paper's: for models that pair x_i with x_{i + d/2}, reorder the rows of the weights.
// ShapeError unless the rank is 2 to 7 and d is even and at least 2; DTypeError unless floating; ValueError
// when first_position is negative, or base is not positive and finite.
//
//     const Tensor y = nn::rotary(q);        // q (B, H, T, d_k), positions 0 … T − 1
//     const Tensor next = nn::rotary(q, T);  // positions T … 2T − 1
Tensor rotary(const Tensor& x, std::int64_t first_position = 0, double base = 10000);

}  // namespace weft::nn
