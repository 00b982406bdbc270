// Rotary positions (Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021, §3.2).
#pragma once

#include "weft/core/tensor.h"

namespace weft::nn {

// Each pair of neighbours (x₂ᵢ, x₂ᵢ₊₁) of the token at position p turned by the angle p · base^(−2i/d):
//     y₂ᵢ = x₂ᵢ cos − x₂ᵢ₊₁ sin,   y₂ᵢ₊₁ = x₂ᵢ sin + x₂ᵢ₊₁ cos.
// So the product of a query at i and a key at j depends on i − j alone. x (…, T, d) → the same, the first token
// at first_position. The pairs are the paper's; some models pair x_i with x_{i + d/2} instead, and their
// weights need their rows reordered. ShapeError unless rank is 2 to 7 and d even, at least 2; DTypeError unless
// floating; ValueError on a negative position, or a base that is not finite and above 0.
Tensor rotary(const Tensor& x, std::int64_t first_position = 0, double base = 10000);

}  // namespace weft::nn
