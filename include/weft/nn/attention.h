// Multi-head attention (Vaswani et al., "Attention is all you need", 2017, §3.2.2).
// B batch, T tokens (queries), S keys, C = d_model, H heads of queries, G of keys and values, d_k = C / H.
#pragma once

#include <optional>

#include "weft/core/heads.h"
#include "weft/nn/kv_cache.h"
#include "weft/nn/linear.h"

namespace weft::nn {

// x (B, T, C) → (B, H, T, d_k), or (T, C) → (H, T, d_k): head h has columns h·d_k … (h+1)·d_k − 1. ShapeError
// unless the rank is 2 or 3 and H divides C.
inline Tensor split_heads(const Tensor& x, std::int64_t num_heads) { return Heads::split(x, num_heads); }

// qkv (B, T, 3C) or (T, 3C), the columns of Q, then of K, then of V → q, k, v, each (B, H, T, d_k) or (H, T,
// d_k). With num_kv_heads = G given, qkv is (…, T, (H + 2G)·d_k), and k and v have G heads. ShapeError unless
// the rank is 2 or 3 and H + 2G divides the last axis.
inline std::array<Tensor, 3> split_qkv(const Tensor& qkv, std::int64_t num_heads,
                                       std::int64_t num_kv_heads = 0) {
    return Heads::packed(qkv, num_heads, num_kv_heads, "split_qkv").qkv();
}

// The inverse of split_heads: (B, H, T, d_k) → (B, T, C), or (H, T, d_k) → (T, C). ShapeError on any other
// rank.
inline Tensor merge_heads(const Tensor& x) { return Heads::merge(x); }

// d_model / num_heads. ValueError, naming `module`, unless num_heads ≥ 1, d_model ≥ 1 and num_heads divides
// d_model.
std::int64_t head_dim(std::int64_t d_model, std::int64_t num_heads, const char* module);

// Options of MultiHeadAttention. A size of 0 means the usual one.
struct MultiHeadAttentionOptions {
    bool bias = false;                // of every projection
    bool fused = true;                // one W_qkv, its rows those of Q, K, V; else W_q, W_k, W_v
    double dropout = 0;               // of the weights, after softmax, in training
    std::int64_t num_kv_heads = 0;    // G: each head of keys and values serves H / G of queries; num_heads
    std::int64_t d_k = 0;             // width of a head's queries and keys; d_model / num_heads
    std::int64_t d_v = 0;             // width of a head's values; d_model / num_heads
    std::int64_t kdim = 0, vdim = 0;  // of the tokens of key and value; d_model
    std::optional<double> rotary_base = {};  // turns queries and keys by their positions, see rotary.h
};

// W_out concat_h(softmax(q_h k_hᵀ / √d_k, masked) v_h), with q = W_q query, k = W_k key, v = W_v value, split
// into heads. query (B, T, C), key (B, S, kdim) and value (B, S, vdim) → (B, T, C); all of them
// without B is one sample. Self-attention: the same tensor three times; cross-attention: key and value from
// another sequence. Padding among the keys: Mask::padding(lengths), one length for each sample. A query that
// may attend to nothing gives W_out's bias. ValueError unless num_heads divides d_model (where d_k or d_v is
// not given), num_kv_heads divides num_heads, all sizes are at least 1, 0 ≤ dropout < 1, the three widths are
// one where fused, and d_k is even where rotary; ShapeError when sizes do not fit; ValueError on
// cross-attention with rotary positions, which count one sequence's tokens.
struct MultiHeadAttention : Module {
    std::int64_t d_model, num_heads, num_kv_heads, d_k, d_v, kdim, vdim;  // as made, none 0
    double dropout;                                                       // as made
    std::optional<double> rotary_base;                                    // as made
    std::optional<Linear> W_qkv;          // fused: C → H·d_k + G·d_k + G·d_v, 3C in the usual case
    std::optional<Linear> W_q, W_k, W_v;  // separate: C → H·d_k, kdim → G·d_k, vdim → G·d_v
    Linear W_out;                         // H·d_v → C

    // Initial values from `rng`, which also seeds dropout's own generator.
    MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                       MultiHeadAttentionOptions options = {});

    // Self-attention of x, or query's attention to key and value.
    Tensor operator()(const Tensor& x, const Mask& mask = {}) const { return (*this)(x, x, x, mask); }
    Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask = {}) const;
    // The same, and the weights of each head: (B, H, T, S), or (H, T, S) without B. Their memory grows with T ×
    // S.
    AttentionResult with_weights(const Tensor& x, const Mask& mask = {}) const {
        return with_weights(x, x, x, mask);
    }
    AttentionResult with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                 const Mask& mask = {}) const;

    // q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), as attention takes them.
    std::array<Tensor, 3> project(const Tensor& query, const Tensor& key, const Tensor& value) const {
        return split(query, key, value).qkv();
    }

private:
    std::shared_ptr<Rng> rng_;  // of dropout
    // With every size filled in and checked.
    MultiHeadAttention(const MultiHeadAttentionOptions& all, std::int64_t d_model, std::int64_t num_heads,
                       Rng& rng);
    std::optional<Linear> projection(bool wanted, const char* name, std::int64_t in, std::int64_t out, Rng& rng,
                                     bool bias);
    Heads split(const Tensor& query, const Tensor& key, const Tensor& value) const;
    AttentionOptions options(const Mask& mask) const;
};

// Options of CausalMultiHeadAttention.
struct CausalMultiHeadAttentionOptions {
    std::int64_t max_seq_len = 1024;  // the most tokens of a sequence
    bool bias = false;                // of both projections
    double dropout = 0;               // of the weights, after softmax, in training
    std::int64_t num_kv_heads = 0;    // G: each head of keys and values serves H / G of queries; 0: num_heads
    std::optional<double> rotary_base = {};  // turns queries and keys by their positions, see rotary.h
};

// Self-attention in which token i attends to the tokens up to i only: x (B, T, C) → (B, T, C), or (T, C) → (T,
// C). ValueError unless num_heads divides d_model, num_kv_heads divides num_heads, max_seq_len ≥ 1, 0 ≤ dropout
// < 1, and d_k is even where rotary; ShapeError when T > max_seq_len.
struct CausalMultiHeadAttention : Module {
    std::int64_t d_model, num_heads, num_kv_heads, d_k, max_seq_len;  // as made, none 0
    double dropout;                                                   // as made
    std::optional<double> rotary_base;                                // as made
    Linear W_qkv;  // C → (H + 2G)·d_k, 3C in the usual case
    Linear W_out;  // C → C

    // Initial values from `rng`, which also seeds dropout's own generator.
    CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                             CausalMultiHeadAttentionOptions options = {});

    // `extra_mask` blocks more than the future: padding, say.
    Tensor operator()(const Tensor& x, const Mask& extra_mask = {}) const;
    // The same, and the weights of each head: (B, H, T, T).
    AttentionResult with_weights(const Tensor& x, const Mask& extra_mask = {}) const;
    // The same for the T tokens that follow those in the cache, which is extended by them: what the pass over
    // all S = cache.length() + T tokens gives at the last T positions; `extra_mask` is of T queries and S keys.
    // Refuses also what KeyValueCache::append refuses, and S > max_seq_len (ShapeError). The cache is unchanged
    // when it throws.
    Tensor operator()(const Tensor& x, KeyValueCache& cache, const Mask& extra_mask = {}) const;

    // bool (max_seq_len, max_seq_len), true = blocked: ones above the diagonal. The first call makes it and
    // registers it as the buffer "mask", which is not in the state_dict and which all copies of the module
    // share. From then on attention reads the rows and columns of its tokens in it, so editing it changes the
    // result. Without a call there is no such tensor, and attention counts to the diagonal instead. Make the
    // first call before several threads use the module.
    Tensor mask() const;

private:
    std::shared_ptr<Rng> rng_;  // of dropout
    Tensor project(const Tensor& x, std::int64_t past = 0) const;
    Heads split(const Tensor& qkv, std::int64_t past = 0) const;
    AttentionOptions options(const Tensor& x, const Mask& extra_mask, std::int64_t past = 0) const;
};

}  // namespace weft::nn
