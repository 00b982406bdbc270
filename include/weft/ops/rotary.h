// Rotary positions (Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021, §3.2).
// T tokens, d the width of a head, r ≤ d the columns that are rotated, i = 0 … r/2 − 1 the number of a pair.
#pragma once

#include "weft/core/tensor.h"

namespace weft {

// Which columns are a pair.
enum class RotaryPairs {
    neighbours,  // x₂ᵢ and x₂ᵢ₊₁: the paper's, Meta's Llama files and GGUF files of llama
    halves       // xᵢ and xᵢ₊ᵣ⁄₂: the files of Hugging Face
};

// The cosines and sines of T positions, which layers with the same options share.
//
//     const RotaryTable table = nn::rotary_table(0, 8, 16, {}, float32);  // 8 positions, heads of width 16
//     const Tensor y = rotary(q, table), z = rotary(k, table);            // both (B, H, 8, 16)
struct RotaryTable {
    Tensor cos, sin;    // (T, r/2), times the attention factor
    RotaryPairs pairs;  // the columns of a pair
};

// Rotates each pair (a, b) of the token at position p by the angle φ = p · θᵢ: a cos φ − b sin φ, a sin φ + b
// cos φ. The dot product of a query at position i and a key at position j then depends on i − j only. x (…, T,
// d) → the same shape. ShapeError unless the rank is 2 to 7 and the table has T positions and a width ≤ d.
Tensor rotary(const Tensor& x, const RotaryTable& table);

}  // namespace weft
