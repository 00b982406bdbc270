#include "weft/nn/encoder_decoder.h"

#include "nn/parts.h"
#include "weft/nn/rng_guard.h"

namespace weft::nn {

namespace {

MultiHeadAttention attention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                             const EncoderBlockOptions& options) {
    return MultiHeadAttention(d_model, num_heads, rng, {.bias = options.bias, .dropout = options.dropout});
}

}  // namespace

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, EncoderBlockOptions options)
    : EncoderBlock(d_model, num_heads, RngGuard(rng), options) {}

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                           const EncoderBlockOptions& options)
    : Module("EncoderBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module("attn", attention(d_model, num_heads, rng, options))),
      norm2(register_module("norm2", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, DecoderBlockOptions options)
    : DecoderBlock(d_model, num_heads, RngGuard(rng), options) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                           const DecoderBlockOptions& options)
    : Module("DecoderBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module("attn", attention(d_model, num_heads, rng, options))),
      norm2(register_module("norm2", norm(d_model, options))),
      cross(register_module("cross", attention(d_model, num_heads, rng, options))),
      norm3(register_module("norm3", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

}  // namespace weft::nn
