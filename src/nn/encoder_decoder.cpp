#include "weft/nn/encoder_decoder.h"

#include "nn/parts.h"
#include "weft/nn/rng_guard.h"

namespace weft::nn {

namespace {

AttentionConfig cross_config(const DecoderBlockOptions& options) {
    AttentionConfig config = attention_config(options);
    config.rotary_base = {};  // the source's positions are not the target's
    return config;
}

}  // namespace

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, DecoderBlockOptions options)
    : DecoderBlock(d_model, num_heads, RngGuard(rng), options) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                           const DecoderBlockOptions& options)
    : Module("DecoderBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module("attn", MultiHeadAttention(d_model, num_heads, rng, attention_config(options)))),
      norm2(register_module("norm2", norm(d_model, options))),
      cross(register_module("cross", MultiHeadAttention(d_model, num_heads, rng, cross_config(options)))),
      norm3(register_module("norm3", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

}  // namespace weft::nn
