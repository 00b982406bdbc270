// The constructors of the transformer blocks.
#include "weft/nn/encoder_decoder.h"
#include "weft/nn/transformer.h"

namespace weft::nn {

namespace {

LayerNorm norm(std::int64_t d_model, const auto& options) {
    return LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias});
}

MLP feedforward(std::int64_t d_model, Rng& rng, const auto& options) {
    return MLP(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias});
}

MultiHeadAttention attention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                             const EncoderBlockOptions& options) {
    return MultiHeadAttention(d_model, num_heads, rng, {.bias = options.bias, .dropout = options.dropout});
}

}  // namespace

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, EncoderBlockOptions options)
    : Module("EncoderBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module("attn", attention(d_model, num_heads, rng, options))),
      norm2(register_module("norm2", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, DecoderBlockOptions options)
    : Module("DecoderBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module("attn", attention(d_model, num_heads, rng, options))),
      norm2(register_module("norm2", norm(d_model, options))),
      cross(register_module("cross", attention(d_model, num_heads, rng, options))),
      norm3(register_module("norm3", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                   TransformerBlockOptions options)
    : Module("TransformerBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module(
          "attn", CausalMultiHeadAttention(
                      d_model, num_heads, rng,
                      {.max_seq_len = options.max_seq_len, .bias = options.bias, .dropout = options.dropout}))),
      norm2(register_module("norm2", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

}  // namespace weft::nn
