// Blocks of transformers: attention, then a feed-forward network, each added to its input.
#pragma once

#include "weft/nn/attention.h"
#include "weft/nn/cache_guard.h"
#include "weft/nn/layers.h"

namespace weft::nn {

// Options of TransformerBlock, EncoderBlock and DecoderBlock.
//
//     const nn::TransformerBlockOptions options{.dropout = 0.1, .attention = {.num_kv_heads = 2}};
//     const nn::TransformerBlock block(64, 8, options);  // block.attn.num_kv_heads is 2
struct TransformerBlockOptions {
    std::optional<std::int64_t> max_seq_len = {};  // longest sequence of causal attention [1024]
    bool bias = false;                             // whether every linear layer and norm has a bias
    double dropout = 0;  // probability for attention weights and for what is added to x, in training
    std::int64_t dim_feedforward = 0;  // hidden width of the MLP; 0 means 4 · d_model
    double layer_norm_eps = 1e-5;      // eps of every norm
    AttentionConfig attention = {};    // where it leaves out max_seq_len, bias or dropout, the above
};

// h = x + attn(norm1(x)), y = h + mlp(norm2(h)), made of your parts, in pre-norm order (Xiong et al., "On layer
// normalization in the transformer architecture", 2020, §3.1; Radford et al., GPT-2, 2019, §2.3). norm1, norm2
// and mlp are modules that take x (…, C) and return (…, C), and attn takes a mask, too. x (B, T, C) → (B, T,
// C), C = d_model. TransformerBlock and EncoderBlock are two of them. Refuses what its parts refuse.
//
//     const nn::AttentionConfig config{.num_kv_heads = 2, .rotary_base = 10000};
//     nn::PreNormBlock block{"LlamaBlock", nn::RMSNorm(64), nn::CausalMultiHeadAttention(64, 8, rng, config),
//                            nn::RMSNorm(64), nn::GatedMLP(64, rng)};
//     const Tensor y = block(x);  // (B, T, 64) → (B, T, 64)
//
// Construct with braces: they evaluate from left to right, so the parts draw from rng in that order.
template <class Norm, class Attention, class FeedForward>
struct PreNormBlock : Module {
    Norm norm1;       // applied before attn
    Attention attn;   // self-attention
    Norm norm2;       // applied before mlp
    FeedForward mlp;  // applied to each token
    Dropout drop;     // applied to what is added to x

    // Of these parts; `kind` is its name in summary().
    PreNormBlock(std::string kind, Norm norm1, Attention attn, Norm norm2, FeedForward mlp, Dropout drop = {0})
        : Module(std::move(kind)),
          norm1(register_module("norm1", std::move(norm1))),
          attn(register_module("attn", std::move(attn))),
          norm2(register_module("norm2", std::move(norm2))),
          mlp(register_module("mlp", std::move(mlp))),
          drop(register_module("drop", std::move(drop))) {}
    // Of LayerNorm, attention in num_heads heads and MLP, with initial values from `rng`.
    PreNormBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, TransformerBlockOptions options = {});
    // The same from default_rng().
    PreNormBlock(std::int64_t d_model, std::int64_t num_heads, TransformerBlockOptions options = {})
        : PreNormBlock(d_model, num_heads, default_rng(), options) {}

    // x (B, T, C) → (B, T, C). `mask` blocks keys; in causal attention, more than the future.
    Tensor operator()(const Tensor& x, const Mask& mask = {}) const {
        return located(*this, [&] {
            const Tensor h = traced("h", x + drop(attn(norm1(x), mask)));  // (B, T, C)
            return traced("y", h + drop(mlp(norm2(h))));                   // (B, T, C)
        });
    }
    // Decodes the T tokens that follow those in the cache, where attention does, as CausalMultiHeadAttention.
    Tensor operator()(const Tensor& x, KeyValueCache& cache, const Mask& mask = {}) const {
        const CacheGuard guard({&cache, 1});
        return located(*this, [&] {
            const Tensor h = traced("h", x + drop(attn(norm1(x), cache, mask)));  // (B, T, C)
            return traced("y", h + drop(mlp(norm2(h))));                          // (B, T, C)
        });
    }

private:
    PreNormBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                 const TransformerBlockOptions& options);
};

// The block that GPT consists of, with causal attention. Refuses what its parts refuse.
//
//     nn::TransformerBlock block(64, 8, rng, {.max_seq_len = 128, .dropout = 0.1});
//     const Tensor y = block(x);  // (B, T, 64) → (B, T, 64)
using TransformerBlock = PreNormBlock<LayerNorm, CausalMultiHeadAttention, MLP>;

}  // namespace weft::nn
