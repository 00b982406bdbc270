// Attention: its definition, beside which a kernel may compute it in tiles (Plain, weft/core/plain.h).
#pragma once

#include <cstdint>
#include <optional>

#include "weft/core/heads.h"
#include "weft/core/mask.h"

namespace weft {

// Options of attention.
struct AttentionOptions {
    Mask mask = {};                      // which keys a query may not attend to
    Tensor bias = {};                    // added to the scores, see below
    std::optional<double> scale = {};    // 1/√d_k if not given; ValueError unless finite
    std::optional<double> softcap = {};  // bounds the scores, see below; ValueError unless above 0
    double dropout = 0;                  // probability for the weights, after softmax, in [0, 1) or ValueError
    Rng* rng = nullptr;                  // generator of dropout; default_rng() if null
};

// softmax(q kᵀ · scale + bias, masked) v (Vaswani et al., "Attention is all you need", 2017, §3.2.1). With a
// softcap c each score s becomes c · tanh(s / c) before the bias (Gemma Team, "Gemma 2", 2024, §2), and
// attention runs step by step.
//
//     const AttentionOptions options = {.mask = Mask::causal()};
//     const Tensor y = scaled_dot_product_attention(q, k, v, options);  // (B, H, T, d_v)
//
// Shapes: q (…, H, T, d_k), k (…, G, S, d_k), v (…, G, S, d_v) → (…, H, T, d_v), or one head as (T, d_k),
// (S, d_k), (S, d_v) → (T, d_v). The axes before the heads are samples, B in all, equal for q, k and v. G is H
// or divides H; head h then reads the keys and values of head ⌊h / (H/G)⌋ (Ainslie et al., "GQA", 2023,
// §2.2). The bias broadcasts to (B, H, T, S); −inf blocks a key. ShapeError if sizes do not fit, ValueError if
// the bias holds NaN or +inf.
//
// Masking: a fully masked row, a query that may attend to nothing, gives 0 with gradient 0. A blocked key and
// its value change nothing for that query, even if they are NaN or infinite.
//
// Memory grows with T + S, and with T × S only if weights are asked for, the mask or the bias holds a tensor of
// that size, the scale is 0 in float32, there is a softcap, or its definition runs (Plain).
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options = {});
// The output of attention, and its weights.
struct [[nodiscard]] AttentionResult {
    Tensor output, weights;  // (…, H, T, d_v), (…, H, T, S)
};
// As scaled_dot_product_attention, with the weights that multiply v, after dropout. Memory grows with T × S.
// The output is computed from them in the graph, fused or composed: after retain_grad(), weights.grad() is
// their gradient along every path, through the output and through what you computed from the weights.
AttentionResult scaled_dot_product_attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                          const AttentionOptions& options = {});
// Attention of a packed projection, read in place: qkv (B, T, H·d_k + G·d_k + G·d_v) or (T, …), the columns of
// q, then k, then v. Merged → (B, T, H·d_v) or (T, H·d_v). ShapeError unless the rank is 2 or 3 and the sizes
// make up the last axis.
//
//     const Tensor y = multi_head_attention(randn({2, 8, 192}), 4, {.mask = Mask::causal()});  // (2, 8, 64)
Tensor multi_head_attention(const Tensor& qkv, const HeadSizes& sizes, const AttentionOptions& options = {});

}  // namespace weft
