// Blocks of transformers: attention, then a feed-forward network, each added to its input.
#pragma once

#include "weft/nn/general_attention.h"
#include "weft/nn/kv_cache.h"
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
//     const nn::AttentionConfig config{.causal = true, .num_kv_heads = 2, .rotary_base = 10000};
//     nn::PreNormBlock block{"LlamaBlock", nn::RMSNorm(64), nn::Attention(64, 8, rng, config),
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

    // x (B, T, C) → (B, T, C). `mask` blocks keys; in causal attention, more than the future.
    Tensor operator()(const Tensor& x, const Mask& mask = {}) const {
        return located(*this, [&] {
            const Tensor h = traced("h", x + drop(attn(norm1(x), mask)));  // (B, T, C)
            return traced("y", h + drop(mlp(norm2(h))));                   // (B, T, C)
        });
    }
    // Decodes the T tokens that follow those in the cache, where attention does, as Attention if causal.
    Tensor operator()(const Tensor& x, KeyValueCache& cache, const Mask& mask = {}) const {
        const CacheGuard guard({&cache, 1});
        return located(*this, [&] {
            const Tensor h = traced("h", x + drop(attn(norm1(x), cache, mask)));  // (B, T, C)
            return traced("y", h + drop(mlp(norm2(h))));                          // (B, T, C)
        });
    }
};

// The block that GPT consists of, with causal attention. Refuses what its parts refuse.
//
//     nn::TransformerBlock block(64, 8, rng, {.max_seq_len = 128, .dropout = 0.1});
//     const Tensor y = block(x);  // (B, T, 64) → (B, T, 64)
struct TransformerBlock : PreNormBlock<LayerNorm, Attention, MLP> {
    // Draws initial values from `rng`.
    TransformerBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                     TransformerBlockOptions options = {});
    // The same from default_rng().
    TransformerBlock(std::int64_t d_model, std::int64_t num_heads, TransformerBlockOptions options = {})
        : TransformerBlock(d_model, num_heads, default_rng(), options) {}
};

// The two blocks of an encoder-decoder (Vaswani et al., "Attention is all you need", 2017, §3.1), in the
// pre-norm order of TransformerBlock. B batch, S source tokens, T target tokens, C = d_model.

// The options of TransformerBlock without max_seq_len: sequences may have any length.
//
//     const nn::EncoderBlockOptions options{.dropout = 0.1, .dim_feedforward = 128};
//     const nn::EncoderBlock block(64, 8, options);  // block.mlp.W_in.weight (128, 64)
using EncoderBlockOptions = TransformerBlockOptions;
using DecoderBlockOptions = TransformerBlockOptions;  // the same options

// h = x + attn(norm1(x)), y = h + mlp(norm2(h)): every token attends to every token, earlier or later, that
// `mask` does not block. x (B, S, C) → (B, S, C), or (S, C) → (S, C). For sentences of different lengths use
// Mask::padding(lengths). Refuses what Attention, MLP and Dropout refuse.
//
//     nn::EncoderBlock encoder(64, 8, rng);
//     const Tensor memory = encoder(source, Mask::padding(lengths));  // (B, S, 64) → (B, S, 64)
struct EncoderBlock : PreNormBlock<LayerNorm, Attention, MLP> {
    // Draws initial values from `rng`.
    EncoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, TransformerBlockOptions options = {});
    // The same from default_rng().
    EncoderBlock(std::int64_t d_model, std::int64_t num_heads, TransformerBlockOptions options = {})
        : EncoderBlock(d_model, num_heads, default_rng(), options) {}
};

// h = x + attn(norm1(x)), causal; c = h + cross(norm2(h), memory); y = c + mlp(norm3(c)). x (B, T, C) holds the
// target tokens so far and memory (B, S, C) is the encoder's output → (B, T, C); or all without B.
// `memory_mask` (T, S) blocks the source's padding in cross; `mask` (T, T) blocks more of x than its future.
// Memory is not normalised: apply a norm after the last encoder block. Rotary positions turn attn alone.
// Refuses what EncoderBlock refuses.
//
//     nn::DecoderBlock decoder(64, 8, rng);
//     const Tensor y = decoder(target, memory, Mask::padding(lengths));  // (B, T, 64) → (B, T, 64)
struct DecoderBlock : Module {
    LayerNorm norm1;  // applied before attn
    Attention attn;   // self-attention, causal
    LayerNorm norm2;  // applied before cross
    Attention cross;  // queries from x, keys and values from memory
    LayerNorm norm3;  // applied before mlp
    MLP mlp;          // applied to each token
    Dropout drop;     // applied to what is added to x

    // Draws initial values from `rng`.
    DecoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, DecoderBlockOptions options = {});
    // The same from default_rng().
    DecoderBlock(std::int64_t d_model, std::int64_t num_heads, DecoderBlockOptions options = {})
        : DecoderBlock(d_model, num_heads, default_rng(), options) {}
    // x (B, T, C) and memory (B, S, C) → (B, T, C).
    Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& memory_mask = {},
                      const Mask& mask = {}) const {
        return located(*this, [&] {
            Tensor h = traced("h", x + drop(attn(norm1(x), Mask::causal() | mask)));         // (B, T, C)
            Tensor c = traced("c", h + drop(cross(norm2(h), memory, memory, memory_mask)));  // (B, T, C)
            return traced("y", c + drop(mlp(norm3(c))));                                     // (B, T, C)
        });
    }

private:
    DecoderBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                 const DecoderBlockOptions& options);
};

// MixtureOfExperts: several feed-forward networks, of which each token uses a few.

// Options of MixtureOfExperts.
struct MixtureOfExpertsOptions {
    std::int64_t num_experts = 8;      // E
    std::int64_t top_k = 2;            // experts that compute a token
    std::int64_t dim_feedforward = 0;  // hidden width of an expert; 0 means that of GatedMLP or MLP
    bool bias = false;                 // whether the layers of the experts have a bias
    bool norm_topk_prob = true;        // whether the top_k gates of a token are divided by their sum
};

// What with_routing returns.
struct RoutingResult {
    Tensor output;               // (…, C)
    Tensor load_balancing_loss;  // (): E · Σ_e f_e · P_e, 1 where the router spreads tokens evenly
    Tensor tokens_per_expert;    // (E,): f_e, the share of the choices that fell on expert e; they add up to 1
};

// y = Σ_e g_e · expert_e(x) over the top_k experts e with the largest p_e, p = softmax(gate x), and g_e = p_e,
// divided by their sum if norm_topk_prob (Shazeer et al., "Outrageously large neural networks", 2017, §2, with
// the gates of Mixtral). An expert computes the tokens that chose it and no others. x (…, C) → (…, C), C =
// d_model, E = num_experts. Expert is GatedMLP or MLP. ValueError unless num_experts ≥ 1, 1 ≤ top_k ≤
// num_experts, and the expert accepts its sizes; `rng` then has drawn nothing. ShapeError from `linear` unless
// x fits. The names of the layers are those of transformers' Qwen3-MoE.
//
//     nn::MixtureOfExperts moe(64, rng, {.num_experts = 4, .top_k = 2});
//     const nn::RoutingResult y = moe.with_routing(x);
//     // y.output (B, T, 64), y.load_balancing_loss (), y.tokens_per_expert (4,)
//     (mean(pow(y.output, 2)) + 0.01 * y.load_balancing_loss).backward();
//     nn::Mixture<nn::MLP> plain(64, rng, {.top_k = 1, .norm_topk_prob = false});  // as Switch Transformers
//
// With top_k = 1 a gate divided by its sum is 1, and the loss of the output has no gradient for the router: set
// norm_topk_prob = false. In a block, which returns y alone, a Trace has the loss:
//
//     const nn::PreNormBlock block{"MoEBlock", nn::RMSNorm(64), nn::CausalMultiHeadAttention(64, 8, rng),
//                                  nn::RMSNorm(64), nn::MixtureOfExperts(64, rng)};
//     const Trace trace;
//     Tensor loss = mean(pow(block(x), 2));
//     for (const TraceEntry& entry : trace.entries())
//         if (entry.name == "load_balancing_loss") loss = loss + 0.01 * entry.tensor;
template <class Expert>
struct Mixture : Module {
    const std::int64_t top_k;    // as in the options
    const bool norm_topk_prob;   // as in the options
    Linear gate;                 // the router, C → E, without bias
    ModuleList<Expert> experts;  // E of them, each C → C

    // Draws initial values from `rng`.
    Mixture(std::int64_t d_model, Rng& rng, MixtureOfExpertsOptions options = {});
    // The same from default_rng().
    explicit Mixture(std::int64_t d_model, MixtureOfExpertsOptions options = {})
        : Mixture(d_model, default_rng(), options) {}
    // x (…, C) → (…, C).
    Tensor operator()(const Tensor& x) const { return with_routing(x).output; }
    // The same, with the load-balancing loss (Fedus, Zoph and Shazeer, "Switch Transformers", 2021, §2.2, eq.
    // 4, without α) and the tokens per expert. P_e is the mean of p_e over the tokens, and f_e has no gradient.
    // For top_k > 1 transformers has top_k times this loss.
    RoutingResult with_routing(const Tensor& x) const;

private:
    Mixture(std::int64_t d_model, const RngGuard& rng, MixtureOfExpertsOptions options);
    RoutingResult routed(const Tensor& x) const;
};

using MixtureOfExperts = Mixture<GatedMLP>;  // experts as in Mixtral and its successors

}  // namespace weft::nn
