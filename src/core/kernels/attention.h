// Tiled attention: no T × S matrix is ever held (Dao et al., "FlashAttention", 2022, algorithms 1 and 4; the
// running maximum is Milakov and Gimelshein's, "Online normalizer calculation for softmax", 2018). B samples, H
// heads, T queries, S keys, d_k and d_v widths.
#pragma once

#include "core/array/array.h"

namespace weft::kernels {

// Queries of a tile of scores, fewer and, from so many keys on, more; and keys for each of them.
constexpr std::int64_t tile_queries = 64, tile_max_queries = 128, tile_many_keys = 2048, tile_keys = 4;
constexpr std::int64_t attention_grain = 1 << 16;  // multiply-adds of the scores of one task

struct AttentionParams {
    double scale = 1;
    bool causal = false;  // query i sees key j only where j ≤ i + (S − T)
    Array blocked;        // bool (B, H, T, S), true = not seen, or nothing; strides of 0 where it broadcasts
    Array bias;           // like q's type, (B, H, T, S), added to the scores, or nothing
};

// What backward needs to make the weights again, e^(score − max) · inverse_sum, each (B, H, T) and contiguous.
// A query that sees nothing has 0 for both. (One number, max − ln inverse_sum, would round the small one away
// where logits are large.)
struct SoftmaxStats {
    Array max, inverse_sum;
};

// q (B, H, T, d_k), k (B, G, S, d_k), v (B, G, S, d_v), G dividing H, with last strides of 1 → y (B, H, T,
// d_v), likewise; and `kept`. A query that sees nothing has y = 0. What is blocked changes no bit, not even
// where it is NaN or infinite.
void attention(const Array& y, const SoftmaxStats& stats, const Array& q, const Array& k, const Array& v,
               const AttentionParams& params);

// The gradients of q, k and v, in arrays with last strides of 1; what they held is overwritten. A query that is
// not finite, or sees what is not, adds nothing where its dy is 0.
void attention_backward(const Array& dq, const Array& dk, const Array& dv, const Array& dy, const Array& y,
                        const SoftmaxStats& stats, const Array& q, const Array& k, const Array& v,
                        const AttentionParams& params);

}  // namespace weft::kernels
