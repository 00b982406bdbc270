// Attention with what models of today need: fewer key-value heads, widths of their own, rotary positions, a
// cache, a mask of its own, separate projections.
// B batch, T tokens (queries), S keys, C = d_model, H query heads, G key-value heads, d_k and d_v their widths.
#pragma once

#include <optional>
#include <vector>

#include "weft/nn/attention.h"
#include "weft/nn/kv_cache.h"

namespace weft::nn {

// Options of Attention, apart from its width and its number of heads; blocks and models hold one, too. An
// option left out has the default in brackets, or in a block the block's own.
//
//     const nn::AttentionConfig config{.num_kv_heads = 2, .rotary_base = 10000};
//     const nn::Attention grouped(64, 8, config);  // eight heads of queries, two of keys and values
//     const nn::TransformerBlock block(64, 8, {.dropout = 0.1, .attention = config});
//     // block.attn.num_kv_heads is 2
struct AttentionConfig {
    bool causal = false;                           // token i attends to tokens 0 … i alone
    std::optional<std::int64_t> max_seq_len = {};  // longest sequence of causal attention [1024]
    std::optional<bool> bias = {};                 // whether every projection has a bias [false]
    bool fused = true;                             // one W_qkv with the rows of Q, K, V; else W_q, W_k and W_v
    std::optional<double> dropout = {};            // probability for weights, after softmax, in training [0]
    std::int64_t num_kv_heads = 0;                 // G: H / G query heads share each key-value head [num_heads]
    std::int64_t d_k = 0;                          // width of a query or key head [d_model / num_heads]
    std::int64_t d_v = 0;                          // width of a value head [d_model / num_heads]
    std::int64_t kdim = 0, vdim = 0;               // widths of the key and value tokens [d_model]
    std::optional<double> rotary_base = {};  // rotates queries and keys by their positions, see kv_cache.h

    bool operator==(const AttentionConfig&) const = default;  // whether the two say the same
};

// W_out concat_h(softmax(q_h k_hᵀ / √d_k, masked) v_h), with q = W_q query, k = W_k key and v = W_v value, each
// split into heads. query (B, T, C), key (B, S, kdim), value (B, S, vdim) → (B, T, C); without B, one sample.
// With the defaults it is MultiHeadAttention, and if causal CausalMultiHeadAttention, with the same parameters.
//
//     const nn::Attention attention(64, 8, rng, {.causal = true, .max_seq_len = 128, .num_kv_heads = 2});
//     const Tensor y = attention(x);  // (B, T, 64) → (B, T, 64)
//
// ValueError unless num_heads divides d_model (where d_k or d_v is not given), num_kv_heads divides num_heads,
// all sizes are at least 1, 0 ≤ dropout < 1, kdim = vdim = d_model if fused or causal, d_k is even if rotary,
// and max_seq_len is left out unless causal. When called: ShapeError when sizes do not fit or T > max_seq_len,
// ValueError on cross-attention if causal or with rotary positions.
struct Attention : Module {
    const std::int64_t d_model, num_heads, num_kv_heads, d_k, d_v, kdim, vdim;  // after defaults are filled in
    const std::int64_t max_seq_len;           // the longest sequence; 0 unless causal
    const double dropout;                     // as in the config
    const std::optional<double> rotary_base;  // as in the config
    std::vector<Linear> W_in;  // fused: W_qkv, C → H·d_k + G·d_k + G·d_v; else W_q, W_k and W_v, C →
                               // H·d_k, kdim → G·d_k and vdim → G·d_v
    Linear W_out;              // H·d_v → C
    bool is_fused() const { return W_in.size() == 1; }  // whether there is one projection

    // Draws initial values from `rng`, and the seed of dropout's own generator.
    Attention(std::int64_t d_model, std::int64_t num_heads, Rng& rng, AttentionConfig config = {});
    // The same from default_rng().
    Attention(std::int64_t d_model, std::int64_t num_heads, AttentionConfig config = {})
        : Attention(d_model, num_heads, default_rng(), config) {}

    // Self-attention of x, or attention of query to key and value. If causal, `mask` blocks more than the
    // future.
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
    // Decodes: x holds the T tokens after those in the cache, which it joins. Returns what a pass over all
    // S = cache.length() + T tokens gives at the last T; `mask` has T queries and S keys, of which Mask::keys
    // and Mask::documents may know more. ValueError unless causal. Also refuses what KeyValueCache::append
    // refuses, and S > max_seq_len (ShapeError); then the cache is unchanged.
    //
    //     nn::KeyValueCache cache;
    //     const NoGrad off;
    //     const Tensor y = attention(prompt, cache);    // (T, 64) → (T, 64), and fills the cache
    //     const Tensor next = attention(token, cache);  // (1, 64) → (1, 64), attends to T + 1 tokens
    Tensor operator()(const Tensor& x, KeyValueCache& cache, const Mask& mask = {}) const {
        return forward(x, x, x, mask, false, &cache).output;
    }

    // Returns q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), which are what attention takes.
    std::array<Tensor, 3> project(const Tensor& query, const Tensor& key, const Tensor& value) const {
        begin(query, key, value, nullptr);
        return heads(query, key, value, nullptr);
    }

    // Returns the mask that causal attention applies, bool (max_seq_len, max_seq_len), true = blocked: that of
    // set_mask, else a new tensor with ones above the diagonal. Attention itself compares positions and makes
    // none.
    Tensor mask() const;
    // Attention applies `blocked`, bool (max_seq_len, max_seq_len), instead of the causal mask: T tokens after
    // S in the cache take its rows and columns. It is copied into the buffer "mask", outside the state_dict,
    // which copies of the module share; mask() then returns that buffer, and edits of it act. ShapeError or
    // DTypeError unless it fits, ValueError unless causal. Call it before several threads use the module.
    //
    //     Tensor blocked = attention.mask();  // (128, 128)
    //     blocked.slice(1, 0, 4).fill_(0);    // the first four tokens see one another: a prefix
    //     attention.set_mask(blocked);
    void set_mask(const Tensor& blocked);

private:
    Shared<Rng> rng_;  // dropout draws from it
    Attention(const RngGuard& rng, std::int64_t d_model, std::int64_t num_heads, const AttentionConfig& all);
    void begin(const Tensor& query, const Tensor& key, const Tensor& value, const KeyValueCache* cache) const;
    std::array<Tensor, 3> heads(const Tensor& query, const Tensor& key, const Tensor& value,
                                KeyValueCache* cache) const;
    Mask causal_mask(std::int64_t T, const KeyValueCache* cache) const;
    AttentionResult forward(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask,
                            bool wants_weights, KeyValueCache* cache = nullptr) const;
};

}  // namespace weft::nn
