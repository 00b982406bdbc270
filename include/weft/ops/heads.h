// Heads: queries, keys and values in the form that attention takes.
// B batch, T queries, S keys, H query heads, G key-value heads, d_k and d_v their widths, C = H·d_k.
#pragma once

#include <array>
#include <variant>
#include <vector>

#include "weft/ops.h"

namespace weft {

// One projection (B, T, H·d_k + G·d_k + G·d_v) or (T, …): the columns of q, then k, then v.
struct PackedHeads {
    Tensor qkv;                                             // the projection
    std::int64_t num_heads = 0, num_kv_heads = 0, d_k = 0;  // H, G and the width of a query or key
};

// q, k and v: three tensors, or the columns of one packed projection, which attention reads in place.
//
//     const Heads heads = Heads::packed(qkv, 4);                           // qkv (B, T, 3C)
//     const Tensor y = scaled_dot_product_attention(heads);                // (B, 4, T, C/4)
//     const Tensor merged = Heads::merge(y);                               // (B, T, C)
//     const Tensor same = scaled_dot_product_attention(Heads{{q, k, v}});  // takes the three tensors as one
//     const Heads wide(PackedHeads{randn({2, 5, 28}), 2, 1, 8});           // values of width 28 − (2 + 1) · 8
struct Heads {
    std::variant<std::array<Tensor, 3>, PackedHeads> form;  // which of the two it is

    Heads(std::array<Tensor, 3> qkv) : form(std::move(qkv)) {}  // of q (…, H, T, d_k), k (…, G, S, d_k) and v
    Heads(PackedHeads packed) : form(std::move(packed)) {}      // the columns of one projection
    // qkv (B, T, (H + 2G)·d_k) or (T, …); G = H if num_kv_heads is 0. ShapeError, beginning with `caller`,
    // for any other rank and unless H + 2G divides the last axis.
    static Heads packed(const Tensor& qkv, std::int64_t num_heads, std::int64_t num_kv_heads = 0,
                        const char* caller = "Heads::packed");

    // {q (…, H, T, d_k), k (…, G, S, d_k), v (…, G, S, d_v)}; views of a packed projection.
    std::array<Tensor, 3> qkv() const;
    std::vector<Tensor> tensors() const;  // the tensors of `form`: three, or the packed projection
    // Attention, (B, H, T, d_v) or (H, T, d_v), with its weights only if `wants_weights`: what every function
    // and module computes. Errors begin with `caller`, a string literal.
    AttentionResult attend(const char* caller, const AttentionOptions& options,
                           bool wants_weights = false) const;

    // x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h is columns h·d_k … (h+1)·d_k − 1.
    // ShapeError unless the rank is 2 or 3 and num_heads divides C.
    static Tensor split(const Tensor& x, std::int64_t num_heads, const char* caller = "Heads::split");
    // The inverse: (B, H, T, d_k) → (B, T, C), or (H, T, d_k) → (T, C). ShapeError for any other rank.
    static Tensor merge(const Tensor& x, const char* caller = "Heads::merge");
};

// As scaled_dot_product_attention(q, k, v, options): (B, H, T, d_v), or (H, T, d_v) without a batch.
Tensor scaled_dot_product_attention(const Heads& heads, const AttentionOptions& options = {});

}  // namespace weft
