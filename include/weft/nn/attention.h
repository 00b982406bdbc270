// Multi-head attention (Vaswani et al., "Attention is all you need", 2017, §3.2.2).
// B batch, T tokens (queries), S keys, C = d_model, H query heads, G key-value heads, d_k = C / H.
#pragma once

#include "weft/core/attention.h"
#include "weft/nn/layers.h"

namespace weft::nn {

// Splits the last axis into heads: x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k). Head h has columns
// h·d_k … (h+1)·d_k − 1. ShapeError unless the rank is 2 or 3 and H divides C.
//
//     const Tensor q = nn::split_heads(x, 4);    // (B, T, C) → (B, 4, T, C/4)
//     const Tensor merged = nn::merge_heads(q);  // (B, T, C): all(merged == x)
inline Tensor split_heads(const Tensor& x, std::int64_t num_heads) {
    return Heads::split(x, num_heads, "split_heads");
}
// The inverse: (B, H, T, d_k) → (B, T, C), or (H, T, d_k) → (T, C). ShapeError at other ranks.
inline Tensor merge_heads(const Tensor& x) { return Heads::merge(x, "merge_heads"); }
// Splits a packed projection into q, k and v: qkv (B, T, (H + 2G)·d_k) or (T, …), with the columns of q, then
// k, then v → (B, H, T, d_k) and twice (B, G, T, d_k), or without B. G = H if num_kv_heads is 0. ShapeError
// unless the rank is 2 or 3 and H + 2G divides the last axis.
//
//     const std::int64_t d_k = nn::head_dim(64, 4, "Attention");       // 16
//     const auto [q, k, v] = nn::split_qkv(randn({2, 8, 3 * 64}), 4);  // each (2, 4, 8, 16)
inline std::array<Tensor, 3> split_qkv(const Tensor& qkv, std::int64_t num_heads,
                                       std::int64_t num_kv_heads = 0) {
    return Heads::split_qkv(qkv, {num_heads, num_kv_heads}, "split_qkv");
}

// Returns d_model / num_heads. ValueError, naming `module`, unless both are ≥ 1 and num_heads divides d_model.
std::int64_t head_dim(std::int64_t d_model, std::int64_t num_heads, const char* module);

// Options of MultiHeadAttention.
//
//     const nn::MultiHeadAttention attention(64, 8, rng, {.bias = true, .dropout = 0.1});
struct MultiHeadAttentionOptions {
    bool bias = false;   // whether both projections have a bias
    double dropout = 0;  // probability for weights, after softmax, in training
};

// W_out concat_h(softmax(q_h k_hᵀ / √d_k, masked) v_h): the columns of W_qkv x are q, k and v, each split into
// H heads. query (B, T, C), key and value (B, S, C) → (B, T, C); without B, one sample. The output of a fully
// masked row, a query that may attend to nothing, is the bias of W_out.
//
//     nn::MultiHeadAttention attention(64, 8, rng);
//     const Tensor y = attention(x);                              // self-attention, (B, T, 64) → (B, T, 64)
//     const Tensor z = attention(x, memory, memory);              // cross-attention, (B, S, 64) → (B, T, 64)
//     const Tensor padded = attention(x, Mask::padding({5, 3}));  // two samples, of 5 and 3 tokens
//     const Tensor weights = attention.with_weights(x).weights;   // (B, 8, T, T)
//
// ValueError unless num_heads divides d_model and 0 ≤ dropout < 1; ShapeError when called with sizes that do
// not fit. Attention (weft/nn/general_attention.h) has other widths, fewer key-value heads, positions, a cache.
struct MultiHeadAttention : Module {
    const std::int64_t d_model, num_heads, d_k;  // C, H and C / H
    const double dropout;                        // as in the options
    Linear W_qkv;                                // C → 3C: the rows of Q, then K, then V
    Linear W_out;                                // C → C

    // Draws initial values from `rng`, and the seed of dropout's own generator.
    MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                       MultiHeadAttentionOptions options = {});
    // The same from default_rng().
    MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, MultiHeadAttentionOptions options = {})
        : MultiHeadAttention(d_model, num_heads, default_rng(), options) {}
    // The size in the paper, d_model 512 in 8 heads, from default_rng().
    MultiHeadAttention() : MultiHeadAttention(512, 8) {}

    // Self-attention of x, or attention of query to key and value.
    Tensor operator()(const Tensor& x, const Mask& mask = {}) const {
        return forward(x, x, x, mask, false).output;
    }
    Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                      const Mask& mask = {}) const {
        return forward(query, key, value, mask, false).output;
    }
    // The same, and the weights of each head: (B, H, T, S), or (H, T, S) without B. Memory grows with T × S.
    AttentionResult with_weights(const Tensor& x, const Mask& mask = {}) const {
        return forward(x, x, x, mask, true);
    }
    AttentionResult with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const Mask& mask = {}) const {
        return forward(query, key, value, mask, true);
    }
    // Returns q (B, H, T, d_k), k and v (B, H, S, d_k), which are what attention takes.
    std::array<Tensor, 3> project(const Tensor& query, const Tensor& key, const Tensor& value) const;

private:
    const Shared<Rng> rng_;  // dropout draws from it
    AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask,
                            bool wants_weights) const;
};

// Options of CausalMultiHeadAttention.
//
//     const nn::CausalMultiHeadAttention attention(64, 8, rng, {.max_seq_len = 128, .bias = true});
struct CausalMultiHeadAttentionOptions {
    std::int64_t max_seq_len = 1024;  // the longest sequence
    bool bias = false;                // whether both projections have a bias
    double dropout = 0;               // probability for weights, after softmax, in training
};

// Self-attention in which token i attends to tokens 0 … i: x (B, T, C) → (B, T, C), or (T, C) → (T, C).
// It computes what MultiHeadAttention computes with Mask::causal(), and has the same parameters. ValueError
// where that has one, and unless max_seq_len ≥ 1. When called: ShapeError unless x fits and T ≤ max_seq_len.
//
//     nn::CausalMultiHeadAttention attention(64, 8, rng, {.max_seq_len = 128});
//     const Tensor y = attention(x);  // (B, T, 64) → (B, T, 64)
struct CausalMultiHeadAttention : Module {
    const std::int64_t d_model, num_heads, d_k, max_seq_len;  // C, H, C / H and the longest T
    const double dropout;                                     // as in the options
    Linear W_qkv;                                             // C → 3C: the rows of Q, then K, then V
    Linear W_out;                                             // C → C

    // Draws initial values from `rng`, and the seed of dropout's own generator.
    CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                             CausalMultiHeadAttentionOptions options = {});
    // The same from default_rng().
    CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads,
                             CausalMultiHeadAttentionOptions options = {})
        : CausalMultiHeadAttention(d_model, num_heads, default_rng(), options) {}

    // `extra_mask` blocks more than the future, such as padding.
    Tensor operator()(const Tensor& x, const Mask& extra_mask = {}) const {
        return forward(x, extra_mask, false).output;
    }
    // The same, and the weights of each head: (B, H, T, T).
    AttentionResult with_weights(const Tensor& x, const Mask& extra_mask = {}) const {
        return forward(x, extra_mask, true);
    }
    // Returns the mask that attention applies, bool (max_seq_len, max_seq_len), true = blocked, as a new tensor
    // with ones above the diagonal: attention itself compares positions and makes none.
    Tensor mask() const;

private:
    const Shared<Rng> rng_;  // dropout draws from it
    AttentionResult forward(const Tensor& x, const Mask& extra_mask, bool wants_weights) const;
};

}  // namespace weft::nn
