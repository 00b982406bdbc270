// What several layers are made of, and the check of their sizes.
#pragma once

#include "weft/nn/transformer.h"

namespace weft::nn {

inline std::int64_t checked_size(std::int64_t size, const char* what) {
    if (size < 1) throw ValueError(what, " must be at least 1, not ", size);
    return size;
}

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
