// Rotary positions (Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021, §3.2).
// T tokens, d the width of a head, r ≤ d the columns that are rotated, i = 0 … r/2 − 1 the number of a pair.
#pragma once

#include <optional>
#include <vector>

#include "weft/ops/rotary.h"

namespace weft::nn {

using weft::RotaryPairs, weft::RotaryTable, weft::rotary;

// How the rates θᵢ = base^(−2i/r) are changed for sequences longer than those of the first training, with the
// names of Hugging Face's configs ("rope_scaling", transformers' modeling_rope_utils.py). L is original_length,
// which `none` and `linear` do without.
//
//     nn::RotaryOptions longer;
//     longer.scaling = {.kind = nn::RotaryScaling::dynamic, .factor = 2, .original_length = 64};
struct RotaryScaling {
    // Which formula.
    enum Kind {
        none,    // θᵢ
        linear,  // θᵢ / factor (Chen et al., "Extending context window", 2023, §2.3)
        dynamic,  // θᵢ of base · (factor · S/L − factor + 1)^(r/(r−2)), if the sequence has S > L tokens
        yarn,  // between θᵢ and θᵢ / factor by the turns in L tokens (Peng et al., "YaRN", 2023, §3.2, 3.4)
        longrope,  // θᵢ / long_factor[i] if S > L, else / short_factor[i] (Ding et al., "LongRoPE", 2024)
        llama3     // between the two by the wavelength (Grattafiori et al., "The Llama 3 herd", 2024, §3.2)
    };
    Kind kind = none;                       // the formula
    double factor = 1;                      // how much longer sequences become
    std::int64_t original_length = 0;       // L
    double low_freq_factor = 1;             // llama3: wavelengths above L / low_freq_factor are scaled,
    double high_freq_factor = 4;            // and those below L / high_freq_factor are not
    double beta_fast = 32, beta_slow = 1;   // yarn: the turns at which scaling begins and is whole
    bool truncate = true;                   // yarn: the pairs of these turns are rounded outwards
    std::vector<double> short_factor = {};  // longrope: r/2 of them
    std::vector<double> long_factor = {};   // longrope: r/2 of them
    std::optional<double> attention_factor =
        {};  // multiplies cos and sin [yarn, longrope: the paper's; else 1]
    bool operator==(const RotaryScaling&) const = default;  // equal in everything
};

// Options of rotary positions.
//
//     const nn::RotaryOptions llama{.base = 500000, .pairs = nn::RotaryPairs::halves};
//     const Tensor y = nn::rotary(q, 0, llama);  // (B, H, T, d_k)
struct RotaryOptions {
    double base = 10000;                                    // of the rates
    RotaryPairs pairs = RotaryPairs::neighbours;            // the columns of a pair
    std::int64_t width = 0;                                 // r, the first columns, which are rotated [d]
    RotaryScaling scaling = {};                             // for longer sequences
    bool operator==(const RotaryOptions&) const = default;  // equal in everything
};

// The cosines and sines of positions first_position … first_position + T − 1 of a sequence of `length` tokens,
// by default those up to the last of these. ValueError for first_position < 0, a base or factor that is not
// finite and above 0, an odd width or one outside 2 … d, and what a scaling lacks; DTypeError unless float32 or
// float64. Angles are computed in float64: float32 would lose the fractions of large ones.
//
//     const Tensor cosines = nn::rotary_table(0, 8, 16, {}, float32).cos;  // (8, 8)
RotaryTable rotary_table(std::int64_t first_position, std::int64_t T, std::int64_t d,
                         const RotaryOptions& options, DType dtype, std::optional<std::int64_t> length = {});

// A number that is equal for two lengths of a sequence exactly if the angles are: 0 where they do not depend on
// it.
//
//     const std::int64_t at_64 = nn::rotary_length(longer, 64);  // 0
//     const std::int64_t at_65 = nn::rotary_length(longer, 65);  // 65: other angles
std::int64_t rotary_length(const RotaryOptions& options, std::int64_t length);

// rotary(x, table); the first token is at first_position. ShapeError unless d is even and at least 2; and what
// rotary_table refuses.
//
//     const Tensor y = nn::rotary(q);        // q (B, H, T, d_k), positions 0 … T − 1
//     const Tensor next = nn::rotary(q, T);  // positions T … 2T − 1
Tensor rotary(const Tensor& x, std::int64_t first_position, const RotaryOptions& options);
// The same with this base.
Tensor rotary(const Tensor& x, std::int64_t first_position = 0, double base = 10000);

}  // namespace weft::nn
