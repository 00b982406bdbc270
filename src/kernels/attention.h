// Tiled attention, which never stores a T × S matrix (Dao et al., "FlashAttention", 2022, algorithms 1 and 4;
// the running maximum is from Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). B
// samples, H heads of queries, G of keys and values, T queries, S keys, d_k and d_v widths.
#pragma once

#include <vector>

#include "kernels/dropout.h"
#include "tensor/array.h"

namespace weft::kernels {

// A tile of scores has at most tile_queries queries, or tile_max_queries from tile_many_keys keys on, and at
// most tile_keys_per_query times as many keys.
constexpr std::int64_t tile_queries = 64, tile_max_queries = 128, tile_many_keys = 2048,
                       tile_keys_per_query = 4, tile_max_keys = tile_keys_per_query * tile_max_queries;
constexpr std::int64_t attention_grain = 1 << 16;  // multiply-adds of the scores of one task
constexpr std::int64_t attention_tasks = 128;      // number of tasks of backward, where the sizes allow

// q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), or their gradients. G divides H; last strides are 1.
struct QkvArrays {
    Array q, k, v;
};

struct AttentionParams {
    double scale = 1;
    bool causal = false;  // query i attends to key j only if j ≤ i + (S − T)
    // (B, H, T, S), with strides of 0 where broadcast; the bias is without storage if there is none.
    std::vector<Array> blocked;  // bool, true = masked; a pair that any of them masks is masked
    Array bias;                  // added to the scores; has q's type
    // Applied to the weights, whose element (b, h, i, j) has the number ((b H + h) T + i) S + j.
    Dropout dropout = {};
};

// Backward recomputes the weights from these as e^(score − max) · inverse_sum. Each is (B, H, T) and
// contiguous; both are 0 for a fully masked row. (One number, max − ln inverse_sum, would round the small one
// away where scores are large.)
struct SoftmaxStats {
    Array max, inverse_sum;
};

// y (B, H, T, d_v), whose last stride is 1, and stats. A fully masked row has y = 0. Masked keys and values
// change no bit, even if they are NaN or infinite. If `weights` (B, H, T, S), contiguous, has storage, it
// becomes what multiplies v.
void attention(const Array& y, const SoftmaxStats& stats, const Array& weights, const QkvArrays& inputs,
               const AttentionParams& params);

// Overwrites the gradients. A query that is not finite, or attends to what is not, adds nothing if its dy is 0.
// If `dbias` (B|1, H|1, T|1, S|1), of float64 and zeros, has storage, the gradient of the bias is added to it.
void attention_backward(const QkvArrays& gradients, const Array& dbias, const Array& dy, const Array& y,
                        const SoftmaxStats& stats, const QkvArrays& inputs, const AttentionParams& params);

}  // namespace weft::kernels
