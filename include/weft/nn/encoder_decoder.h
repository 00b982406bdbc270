// The two blocks of an encoder-decoder (Vaswani et al., "Attention is all you need", 2017, §3.1), in the
// pre-norm order of TransformerBlock. B batch, S source tokens, T target tokens, C = d_model.
#pragma once

#include "weft/nn/transformer.h"

namespace weft::nn {

// The options of TransformerBlock without max_seq_len: sequences may have any length.
//
//     const nn::EncoderBlockOptions options{.dropout = 0.1, .dim_feedforward = 128};
//     const nn::EncoderBlock block(64, 8, options);  // block.mlp.W_in.weight (128, 64)
using EncoderBlockOptions = TransformerBlockOptions;
using DecoderBlockOptions = TransformerBlockOptions;  // the same options

// h = x + attn(norm1(x)), y = h + mlp(norm2(h)): every token attends to every token, earlier or later, that
// `mask` does not block. x (B, S, C) → (B, S, C), or (S, C) → (S, C). For sentences of different lengths use
// Mask::padding(lengths). Refuses what MultiHeadAttention, MLP and Dropout refuse.
//
//     nn::EncoderBlock encoder(64, 8, rng);
//     const Tensor memory = encoder(source, Mask::padding(lengths));  // (B, S, 64) → (B, S, 64)
using EncoderBlock = PreNormBlock<LayerNorm, MultiHeadAttention, MLP>;

// h = x + attn(norm1(x)), causal; c = h + cross(norm2(h), memory); y = c + mlp(norm3(c)). x (B, T, C) holds the
// target tokens so far and memory (B, S, C) is the encoder's output → (B, T, C); or all without B.
// `memory_mask` (T, S) blocks the source's padding in cross; `mask` (T, T) blocks more of x than its future.
// Memory is not normalised: apply a norm after the last encoder block. Rotary positions turn attn alone.
// Refuses what EncoderBlock refuses.
//
//     nn::DecoderBlock decoder(64, 8, rng);
//     const Tensor y = decoder(target, memory, Mask::padding(lengths));  // (B, T, 64) → (B, T, 64)
struct DecoderBlock : Module {
    LayerNorm norm1;           // applied before attn
    MultiHeadAttention attn;   // self-attention, causal
    LayerNorm norm2;           // applied before cross
    MultiHeadAttention cross;  // queries from x, keys and values from memory
    LayerNorm norm3;           // applied before mlp
    MLP mlp;                   // applied to each token
    Dropout drop;              // applied to what is added to x

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

}  // namespace weft::nn
