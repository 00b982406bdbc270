// TransformerBlock: causal attention, then an MLP, each added to its input.
#pragma once

#include "weft/autograd/trace.h"
#include "weft/nn/attention.h"
#include "weft/nn/dropout.h"
#include "weft/nn/layer_norm.h"
#include "weft/nn/mlp.h"

namespace weft::nn {

// Options of TransformerBlock.
struct TransformerBlockOptions {
    std::int64_t max_seq_len = 1024;  // longest sequence
    bool bias = false;                // whether every linear layer and norm has a bias
    double dropout = 0;  // probability for attention weights and for what is added to x, in training
    std::int64_t dim_feedforward = 0;  // hidden width of the MLP; 0 means 4 · d_model
    double layer_norm_eps = 1e-5;      // eps of every norm
};

// h = x + attn(norm1(x)), y = h + mlp(norm2(h)), with causal attention, in pre-norm order (Xiong et al., "On
// layer normalization in the transformer architecture", 2020, §3.1; Radford et al., GPT-2, 2019, §2.3).
// x (B, T, C) → (B, T, C), C = d_model. Refuses what CausalMultiHeadAttention refuses.
//
//     nn::TransformerBlock block(64, 8, rng, {.max_seq_len = 128, .dropout = 0.1});
//     const Tensor y = block(x);  // (B, T, 64) → (B, T, 64)
struct TransformerBlock : Module {
    LayerNorm norm1;                // applied before attn
    CausalMultiHeadAttention attn;  // self-attention
    LayerNorm norm2;                // applied before mlp
    MLP mlp;                        // applied to each token
    Dropout drop;                   // applied to what is added to x

    // Draws initial values from `rng`.
    TransformerBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                     TransformerBlockOptions options = {});
    // The same from default_rng().
    TransformerBlock(std::int64_t d_model, std::int64_t num_heads, TransformerBlockOptions options = {})
        : TransformerBlock(d_model, num_heads, default_rng(), options) {}
    // x (B, T, C) → (B, T, C). `extra_mask` blocks more than the future, such as padding.
    Tensor operator()(const Tensor& x, const Mask& extra_mask = {}) const {
        Tensor h = traced("h", x + drop(attn(norm1(x), extra_mask)));  // (B, T, C)
        return traced("y", h + drop(mlp(norm2(h))));                   // (B, T, C)
    }
    // Decodes the T tokens that follow those in the cache, like CausalMultiHeadAttention.
    Tensor operator()(const Tensor& x, KeyValueCache& cache, const Mask& extra_mask = {}) const {
        Tensor h = traced("h", x + drop(attn(norm1(x), cache, extra_mask)));  // (B, T, C)
        return traced("y", h + drop(mlp(norm2(h))));                          // (B, T, C)
    }

private:
    TransformerBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                     const TransformerBlockOptions& options);
};

}  // namespace weft::nn
