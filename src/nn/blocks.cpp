// The blocks of transformers: how they are made of layers.
#include "weft/nn/encoder_decoder.h"
#include "weft/nn/transformer.h"

namespace weft::nn {

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t heads, Rng& rng, EncoderBlockOptions options)
    : Module("EncoderBlock"),
      norm1(child("norm1", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      attn(child("attn",
                 MultiHeadAttention(d_model, heads, rng, {.bias = options.bias, .dropout = options.dropout}))),
      norm2(child("norm2", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      mlp(child("mlp", MLP(d_model, rng, {.hidden = options.hidden, .bias = options.bias}))),
      drop(child("drop", Dropout(options.dropout, rng))) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t heads, Rng& rng, DecoderBlockOptions options)
    : Module("DecoderBlock"),
      norm1(child("norm1", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      attn(child("attn",
                 MultiHeadAttention(d_model, heads, rng, {.bias = options.bias, .dropout = options.dropout}))),
      norm2(child("norm2", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      cross(child("cross",
                  MultiHeadAttention(d_model, heads, rng, {.bias = options.bias, .dropout = options.dropout}))),
      norm3(child("norm3", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      mlp(child("mlp", MLP(d_model, rng, {.hidden = options.hidden, .bias = options.bias}))),
      drop(child("drop", Dropout(options.dropout, rng))) {}

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t heads, Rng& rng,
                                   TransformerBlockOptions options)
    : Module("TransformerBlock"),
      norm1(child("norm1", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      attn(child("attn",
                 CausalMultiHeadAttention(
                     d_model, heads, rng,
                     {.max_seq_len = options.max_seq_len, .bias = options.bias, .dropout = options.dropout}))),
      norm2(child("norm2", LayerNorm(d_model, {.eps = options.norm_eps, .bias = options.bias}))),
      mlp(child("mlp", MLP(d_model, rng, {.hidden = options.hidden, .bias = options.bias}))),
      drop(child("drop", Dropout(options.dropout, rng))) {}

}  // namespace weft::nn
