// Multi-head attention (Vaswani et al., "Attention is all you need", 2017, §3.2.2).
// B batch, T tokens (queries), S keys, C = d_model, H heads, d_k = C / H.
#pragma once

#include <array>
#include <optional>

#include "weft/mask.h"
#include "weft/nn/linear.h"

namespace weft::nn {

// x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h owns columns h·d_k … (h+1)·d_k − 1. ShapeError
// unless rank is 2 or 3 and H divides C.
Tensor to_heads(const Tensor& x, std::int64_t heads);

// qkv (B, T, 3C) or (T, 3C), the columns of Q, then of K, then of V → q, k, v, each (B, H, T, d_k) or (H, T,
// d_k). ShapeError unless rank is 2 or 3 and 3H divides the last axis.
std::array<Tensor, 3> split_heads(const Tensor& qkv, std::int64_t heads);

// The way back: (B, H, T, d_k) → (B, T, C), or (H, T, d_k) → (T, C). ShapeError on any other rank.
Tensor merge_heads(const Tensor& x);

// d_model / heads. ValueError, naming `module`, unless heads ≥ 1, d_model ≥ 1 and heads divides d_model.
std::int64_t head_size(std::int64_t d_model, std::int64_t heads, const char* module);

struct MultiHeadAttentionOptions {
    bool bias = false;   // of every projection
    bool fused = true;   // one W_qkv (3C, C), its rows those of Q, K, V; else W_q, W_k, W_v
    double dropout = 0;  // on the weights, after softmax, in training
};

// W_out concat_h(softmax(q_h k_hᵀ / √d_k, masked) v_h), with q = W_q query, k = W_k key, v = W_v value, split
// in heads. query (B, T, C), key and value (B, S, C) → (B, T, C); all of them without B is one sample.
// Self-attention: the same tensor three times; cross-attention: key and value from another sequence. A query
// that may see nothing gives W_out's bias. ValueError unless heads divides d_model and 0 ≤ dropout < 1;
// ShapeError when sizes do not fit.
struct MultiHeadAttention : Module {
    std::int64_t d_model, heads, d_k;
    double dropout;
    std::optional<Linear> W_qkv;          // fused: C → 3C
    std::optional<Linear> W_q, W_k, W_v;  // separate: C → C each
    Linear W_out;                         // C → C

    MultiHeadAttention(std::int64_t d_model, std::int64_t heads, Rng& rng,
                       MultiHeadAttentionOptions options = {});

    Tensor operator()(const Tensor& x, const Mask& mask = {}) const { return (*this)(x, x, x, mask); }
    Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask = {}) const;
    // The same, and the weights of each head: (B, H, T, S), or (H, T, S) without B. Their memory grows with T ×
    // S.
    AttentionResult with_weights(const Tensor& x, const Mask& mask = {}) const {
        return with_weights(x, x, x, mask);
    }
    AttentionResult with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const Mask& mask = {}) const;

    // q (B, H, T, d_k), k and v (B, H, S, d_k), as attention takes them.
    std::array<Tensor, 3> project(const Tensor& query, const Tensor& key, const Tensor& value) const;

private:
    std::shared_ptr<Rng> rng_;  // of dropout
    AttentionOptions options(const Mask& mask) const;
};

struct CausalMultiHeadAttentionOptions {
    std::int64_t max_seq_len = 1024;
    bool bias = false;
    double dropout = 0;  // on the weights, after softmax, in training
};

// Self-attention in which token i sees the tokens up to i only: x (B, T, C) → (B, T, C), or (T, C) → (T, C).
// ValueError unless heads divides d_model, max_seq_len ≥ 1 and 0 ≤ dropout < 1; ShapeError when T >
// max_seq_len.
struct CausalMultiHeadAttention : Module {
    std::int64_t d_model, heads, d_k, max_seq_len;
    double dropout;
    Linear W_qkv;  // C → 3C
    Linear W_out;  // C → C
    // bool (max_seq_len, max_seq_len), true = blocked: ones above the diagonal. The definition, which Composed
    // reads; otherwise attention counts to the diagonal itself and gives the same. A buffer that is not in the
    // state_dict.
    Tensor mask;

    CausalMultiHeadAttention(std::int64_t d_model, std::int64_t heads, Rng& rng,
                             CausalMultiHeadAttentionOptions options = {});

    // `also` blocks more than the future: padding, say.
    Tensor operator()(const Tensor& x, const Mask& also = {}) const;
    AttentionResult with_weights(const Tensor& x,
                                 const Mask& also = {}) const;  // and each head's weights (B, H, T, T)

private:
    std::shared_ptr<Rng> rng_;  // of dropout
    AttentionOptions options(const Tensor& x, const Mask& also) const;
};

}  // namespace weft::nn
