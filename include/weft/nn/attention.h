// Multi-head attention (Vaswani et al., "Attention is all you need", 2017, §3.2.2).
// B batch, T tokens (queries), S keys, C = d_model, H query heads, G key-value heads, d_k = C / H.
#pragma once

#include <optional>

#include "weft/core/attention.h"
#include "weft/nn/kv_cache.h"
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

// Options of attention, apart from its width and its number of heads; blocks and models hold one, too. An
// option left out has the default in brackets, or in a block the block's own.
//
//     const nn::AttentionConfig config{.num_kv_heads = 2, .rotary_base = 10000};
//     const nn::MultiHeadAttention grouped(64, 8, config);  // eight heads of queries, two of keys and values
//     const nn::TransformerBlock block(64, 8, {.dropout = 0.1, .attention = config});
//     // block.attn.num_kv_heads is 2
struct AttentionConfig {
    std::optional<std::int64_t> max_seq_len = {};  // longest sequence of causal attention [1024]
    std::optional<bool> bias = {};                 // whether every projection has a bias [false]
    bool fused = true;                             // one W_qkv with the rows of Q, K, V; else W_q, W_k and W_v
    std::optional<double> dropout = {};            // probability for weights, after softmax, in training [0]
    std::int64_t num_kv_heads = 0;                 // G: H / G query heads share each key-value head [num_heads]
    std::int64_t d_k = 0;                          // width of a query or key head [d_model / num_heads]
    std::int64_t d_v = 0;                          // width of a value head [d_model / num_heads]
    std::int64_t kdim = 0, vdim = 0;               // widths of the key and value tokens [d_model]
    std::optional<double> rotary_base = {};        // rotates queries and keys by their positions, see rotary.h

    bool operator==(const AttentionConfig&) const = default;  // whether the two say the same
};

// W_out concat_h(softmax(q_h k_hᵀ / √d_k, masked) v_h), with q = W_q query, k = W_k key and v = W_v value, each
// split into heads. query (B, T, C), key (B, S, kdim), value (B, S, vdim) → (B, T, C); without B, one sample.
// The output of a fully masked row, a query that may attend to nothing, is the bias of W_out.
//
//     nn::MultiHeadAttention attention(64, 8, rng);
//     const Tensor y = attention(x);                              // self-attention, (B, T, 64) → (B, T, 64)
//     const Tensor z = attention(x, memory, memory);              // cross-attention, (B, S, 64) → (B, T, 64)
//     const Tensor padded = attention(x, Mask::padding({5, 3}));  // two samples, of 5 and 3 tokens
//     const Tensor weights = attention.with_weights(x).weights;   // (B, 8, T, T)
//
// ValueError unless num_heads divides d_model (where d_k or d_v is not given), num_kv_heads divides num_heads,
// all sizes are at least 1, 0 ≤ dropout < 1, kdim = vdim = d_model if fused, d_k is even if rotary, and
// max_seq_len is left out. When called: ShapeError when sizes do not fit, ValueError on cross-attention with
// rotary positions.
struct MultiHeadAttention : Module {
    const std::int64_t d_model, num_heads, num_kv_heads, d_k, d_v, kdim, vdim;  // after defaults are filled in
    const double dropout;                                                       // as in the config
    const std::optional<double> rotary_base;                                    // as in the config
    std::optional<Linear> W_qkv;          // fused: C → H·d_k + G·d_k + G·d_v, by default 3C
    std::optional<Linear> W_q, W_k, W_v;  // separate: C → H·d_k, kdim → G·d_k, vdim → G·d_v
    Linear W_out;                         // H·d_v → C

    // Draws initial values from `rng`, and the seed of dropout's own generator.
    MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng, AttentionConfig config = {});
    // The same from default_rng().
    MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, AttentionConfig config = {})
        : MultiHeadAttention(d_model, num_heads, default_rng(), config) {}
    // The size in the paper, d_model 512 in 8 heads, from default_rng().
    MultiHeadAttention() : MultiHeadAttention(512, 8) {}

    // Self-attention of x, or attention of query to key and value.
    Tensor operator()(const Tensor& x, const Mask& mask = {}) const { return (*this)(x, x, x, mask); }
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

    // Returns q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), which are what attention takes.
    std::array<Tensor, 3> project(const Tensor& query, const Tensor& key, const Tensor& value) const {
        begin(query, key, value, nullptr);
        return heads(query, key, value, nullptr);
    }

private:
    friend struct CausalMultiHeadAttention;
    const char* const name_;          // the name of the class that the user calls
    const std::int64_t max_seq_len_;  // 0 unless causal
    Shared<Rng> rng_;                 // dropout draws from it
    MultiHeadAttention(const char* name, std::int64_t d_model, std::int64_t num_heads,
                       const AttentionConfig& all, const RngGuard& rng);
    void begin(const Tensor& query, const Tensor& key, const Tensor& value, const KeyValueCache* cache) const;
    std::array<Tensor, 3> heads(const Tensor& query, const Tensor& key, const Tensor& value,
                                KeyValueCache* cache) const;
    Mask causal_mask(std::int64_t T, const KeyValueCache* cache) const;
    AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask,
                            bool wants_weights, KeyValueCache* cache = nullptr) const;
};

// Self-attention in which token i attends to tokens 0 … i: x (B, T, C) → (B, T, C), or (T, C) → (T, C).
// It computes what MultiHeadAttention computes with Mask::causal(), and has the same parameters. ValueError
// where that has one, unless max_seq_len ≥ 1, and where config says fused = false, kdim or vdim. When called:
// ShapeError unless x fits and T ≤ max_seq_len.
//
//     nn::CausalMultiHeadAttention attention(64, 8, rng, {.max_seq_len = 128});
//     const Tensor y = attention(x);  // (B, T, 64) → (B, T, 64)
struct CausalMultiHeadAttention : Module {
    const std::int64_t d_model, num_heads, num_kv_heads, d_k, d_v, max_seq_len;  // after defaults are filled in
    const double dropout;                                                        // as in the config
    const std::optional<double> rotary_base;                                     // as in the config
    Linear W_qkv;  // C → H·d_k + G·d_k + G·d_v, by default 3C
    Linear W_out;  // H·d_v → C

    // Draws initial values from `rng`, and the seed of dropout's own generator.
    CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                             AttentionConfig config = {});
    // The same from default_rng().
    CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, AttentionConfig config = {})
        : CausalMultiHeadAttention(d_model, num_heads, default_rng(), config) {}

    // `extra_mask` blocks more than the future, such as padding.
    Tensor operator()(const Tensor& x, const Mask& extra_mask = {}) const {
        return attention_.forward(x, x, x, extra_mask, false).output;
    }
    // The same, and the weights of each head: (B, H, T, T).
    AttentionResult with_weights(const Tensor& x, const Mask& extra_mask = {}) const {
        return attention_.forward(x, x, x, extra_mask, true);
    }
    // Decodes: x holds the T tokens after those in the cache, which it joins. Returns what a pass over all
    // S = cache.length() + T tokens gives at the last T; `extra_mask` has T queries and S keys, of which
    // Mask::keys and Mask::documents may know more. Also refuses what KeyValueCache::append refuses, and
    // S > max_seq_len (ShapeError); then the cache is unchanged.
    //
    //     nn::KeyValueCache cache;
    //     const NoGrad off;
    //     const Tensor y = attention(prompt, cache);    // (T, 64) → (T, 64), and fills the cache
    //     const Tensor next = attention(token, cache);  // (1, 64) → (1, 64), attends to T + 1 tokens
    Tensor operator()(const Tensor& x, KeyValueCache& cache, const Mask& extra_mask = {}) const {
        return attention_.forward(x, x, x, extra_mask, false, &cache).output;
    }

    // Returns the mask that attention applies, bool (max_seq_len, max_seq_len), true = blocked: that of
    // set_mask, else a new tensor with ones above the diagonal. Attention itself compares positions and makes
    // none.
    Tensor mask() const;
    // Attention applies `blocked`, bool (max_seq_len, max_seq_len), instead of the causal mask: T tokens after
    // S in the cache take its rows and columns. It is copied into the buffer "mask", outside the state_dict,
    // which copies of the module share; mask() then returns that buffer, and edits of it act. ShapeError or
    // DTypeError unless it fits. Call it before several threads use the module.
    //
    //     Tensor blocked = attention.mask();  // (128, 128)
    //     blocked.slice(1, 0, 4).fill_(0);    // the first four tokens see one another: a prefix
    //     attention.set_mask(blocked);
    void set_mask(const Tensor& blocked);

private:
    MultiHeadAttention attention_;  // the same module: it has this one's parameters, mode, path and mask
    CausalMultiHeadAttention(MultiHeadAttention attention);
};

}  // namespace weft::nn
