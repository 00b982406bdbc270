// The blocks of transformers: how they are made of layers.
#include "weft/nn/encoder_decoder.h"
#include "weft/nn/transformer.h"

namespace weft::nn {

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, EncoderBlockOptions options)
    : Module("EncoderBlock"),
      norm1(
          register_module("norm1", LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}))),
      attn(register_module("attn", MultiHeadAttention(d_model, num_heads, rng,
                                                      {.bias = options.bias, .dropout = options.dropout}))),
      norm2(
          register_module("norm2", LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}))),
      mlp(register_module(
          "mlp", MLP(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias}))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, DecoderBlockOptions options)
    : Module("DecoderBlock"),
      norm1(
          register_module("norm1", LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}))),
      attn(register_module("attn", MultiHeadAttention(d_model, num_heads, rng,
                                                      {.bias = options.bias, .dropout = options.dropout}))),
      norm2(
          register_module("norm2", LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}))),
      cross(register_module("cross", MultiHeadAttention(d_model, num_heads, rng,
                                                        {.bias = options.bias, .dropout = options.dropout}))),
      norm3(
          register_module("norm3", LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}))),
      mlp(register_module(
          "mlp", MLP(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias}))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                   TransformerBlockOptions options)
    : Module("TransformerBlock"),
      norm1(
          register_module("norm1", LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}))),
      attn(register_module(
          "attn", CausalMultiHeadAttention(
                      d_model, num_heads, rng,
                      {.max_seq_len = options.max_seq_len, .bias = options.bias, .dropout = options.dropout}))),
      norm2(
          register_module("norm2", LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias}))),
      mlp(register_module(
          "mlp", MLP(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias}))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

}  // namespace weft::nn
