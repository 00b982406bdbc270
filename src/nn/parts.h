// What several layers are made of, and the check of their sizes.
#pragma once

#include "weft/core/op.h"
#include "weft/nn/transformer.h"

namespace weft::nn {

inline std::int64_t checked_size(std::int64_t size, const char* what) {
    if (size < 1) throw ValueError(what, " must be at least 1, not ", size);
    return size;
}

inline void check_tokens(const char* module, const char* what, const Tensor& x, std::int64_t width) {
    if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) != width)
        throw ShapeError(module, ": ", what, " must be (B, T, ", width, ") or (T, ", width, "), not ",
                         x.shape());
}

inline void check_tokens(const char* module, const Tensor& query, const Tensor& key, const Tensor& value,
                         std::int64_t width) {
    check_tokens(module, "query", query, width);
    check_tokens(module, "key", key, width);
    check_tokens(module, "value", value, width);
}

// Whether attention is that of tokens to themselves.
inline bool are_one(const Tensor& query, const Tensor& key, const Tensor& value) {
    return query.handle() == key.handle() && key.handle() == value.handle();
}

// Attention in a module's name: the heads side by side (B, T, H·d_v), and their weights (B, H, T, S) if they
// are wanted.
inline AttentionResult attend(const char* module, const std::array<Tensor, 3>& heads,
                              const AttentionOptions& options, bool wants_weights) {
    const auto& [q, k, v] = heads;
    const Op op(module, Op::of_others);
    AttentionResult y;
    if (wants_weights)
        y = scaled_dot_product_attention_with_weights(q, k, v, options);
    else
        y.output = scaled_dot_product_attention(q, k, v, options);
    return {traced("merged", merge_heads(y.output)), y.weights};
}

// The same of tokens to themselves, whose q, k and v are columns of one projection (B, T, …).
inline AttentionResult attend(const char* module, const Tensor& qkv, const HeadSizes& sizes,
                              const AttentionOptions& options, bool wants_weights) {
    if (wants_weights) return attend(module, Heads::split_qkv(qkv, sizes), options, true);
    const Op op(module, Op::of_others);
    return {multi_head_attention(qkv, sizes, options), {}};
}

// q, k and v of tokens that are not the same, each by its rows of the one projection: (B, H, T, d_k), (B, G, S,
// d_k) and (B, G, S, d_v).
std::array<Tensor, 3> project_by_rows(const char* module, const Linear& W_qkv, const HeadSizes& sizes,
                                      const Tensor& query, const Tensor& key, const Tensor& value);

// ShapeError if tokens x (…, T, C) after those in a cache are more than the longest sequence.
void check_length(const char* module, const Tensor& x, std::int64_t past, std::int64_t max_seq_len);

inline LayerNorm norm(std::int64_t d_model, const TransformerBlockOptions& options) {
    return LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias});
}

inline MLP feedforward(std::int64_t d_model, Rng& rng, const TransformerBlockOptions& options) {
    return MLP(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias});
}

// What the config of a block's attention leaves out is the block's.
inline AttentionConfig attention_config(const TransformerBlockOptions& options) {
    AttentionConfig config = options.attention;
    if (!config.max_seq_len) config.max_seq_len = options.max_seq_len;
    if (!config.bias) config.bias = options.bias;
    if (!config.dropout) config.dropout = options.dropout;
    return config;
}

}  // namespace weft::nn
