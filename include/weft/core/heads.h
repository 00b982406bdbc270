// Heads: the columns of tokens as queries, keys and values.
// B batch, T tokens, H query heads, G key-value heads, d_k and d_v their widths, C = H·d_k.
#pragma once

#include <array>

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

}  // namespace weft
