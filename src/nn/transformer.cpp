#include "weft/nn/transformer.h"

#include "nn/parts.h"
#include "weft/nn/rng_guard.h"

namespace weft::nn {

template <class Norm, class Attention, class FeedForward>
PreNormBlock<Norm, Attention, FeedForward>::PreNormBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                                         TransformerBlockOptions options)
    : PreNormBlock(d_model, num_heads, RngGuard(rng), options) {}

template <class Norm, class Attention, class FeedForward>
PreNormBlock<Norm, Attention, FeedForward>::PreNormBlock(std::int64_t d_model, std::int64_t num_heads,
                                                         const RngGuard& rng,
                                                         const TransformerBlockOptions& options)
    : PreNormBlock{std::is_same_v<Attention, CausalMultiHeadAttention> ? "TransformerBlock" : "EncoderBlock",
                   norm(d_model, options),
                   Attention(d_model, num_heads, rng, attention_config(options)),
                   norm(d_model, options),
                   feedforward(d_model, rng, options),
                   Dropout(options.dropout, rng)} {}

template struct PreNormBlock<LayerNorm, CausalMultiHeadAttention, MLP>;
template PreNormBlock<LayerNorm, MultiHeadAttention, MLP>::PreNormBlock(std::int64_t, std::int64_t, Rng&,
                                                                        TransformerBlockOptions);

}  // namespace weft::nn
