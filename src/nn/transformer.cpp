#include "weft/nn/transformer.h"

#include "nn/parts.h"
#include "weft/nn/rng_guard.h"

namespace weft::nn {

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                   TransformerBlockOptions options)
    : TransformerBlock(d_model, num_heads, RngGuard(rng), options) {}

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                                   const TransformerBlockOptions& options)
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
