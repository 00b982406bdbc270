// Attention, and heads: the columns of tokens as queries, keys and values.
// B batch, T tokens, H query heads, G key-value heads, d_k and d_v their widths, C = H·d_k.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "weft/core/mask.h"
#include "weft/core/tensor.h"

namespace weft {

// How the columns of one projection (…, H·d_k + G·d_k + G·d_v) are those of q, then k, then v.
//
//     const HeadSizes sizes(2, 1, 8);  // two heads of width 8 for queries, one for keys and one for values
//     const Tensor y = multi_head_attention(randn({2, 5, 28}), sizes);  // (2, 5, 8): values of width 4
struct HeadSizes {
    std::int64_t num_heads, num_kv_heads = 0, d_k = 0;  // H; G, or 0 for H; d_k, or 0 where d_v is the same
    HeadSizes(std::int64_t num_heads, std::int64_t num_kv_heads = 0, std::int64_t d_k = 0)  // H, G and d_k
        : num_heads(num_heads), num_kv_heads(num_kv_heads == 0 ? num_heads : num_kv_heads), d_k(d_k) {}
};

// Tokens as heads, and the inverse.
//
//     const auto [q, k, v] = Heads::split_qkv(qkv, 4);  // qkv (B, T, 3C): each (B, 4, T, C/4)
//     const Tensor merged = Heads::merge(scaled_dot_product_attention(q, k, v));  // (B, T, C)
struct Heads {
    // x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h is columns h·d_k … (h+1)·d_k − 1.
    // ShapeError unless the rank is 2 or 3 and num_heads divides C.
    static Tensor split(const Tensor& x, std::int64_t num_heads, const char* caller = "Heads::split");
    // The inverse: (B, H, T, d_k) → (B, T, C), or (H, T, d_k) → (T, C). ShapeError for any other rank.
    static Tensor merge(const Tensor& x, const char* caller = "Heads::merge");
    // {q (B, H, T, d_k), k (B, G, T, d_k), v (B, G, T, d_v)}, or without B, views of the projection. ShapeError
    // for any other rank, and unless the widths make up the last axis.
    static std::array<Tensor, 3> split_qkv(const Tensor& qkv, const HeadSizes& sizes,
                                           const char* caller = "Heads::split_qkv");
};

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
