// GPT. B batch, T tokens, C = d_model, V vocabulary.
#include "weft/lm/gpt.h"

#include <cmath>

#include "lm/caches.h"
#include "weft/core/creation.h"
#include "weft/core/grad_mode.h"
#include "weft/nn/cache_guard.h"
#include "weft/nn/init.h"
#include "weft/nn/rng_guard.h"

namespace weft::lm {

namespace {

const GPTConfig& checked_config(const GPTConfig& config) {
    const std::pair<const char*, std::int64_t> sizes[] = {{"vocab_size", config.vocab_size},
                                                          {"block_size", config.block_size},
                                                          {"num_layers", config.num_layers}};
    for (const auto& [name, size] : sizes)
        if (size < 1) throw ValueError("GPT: ", name, " must be at least 1, not ", size);
    nn::head_dim(config.d_model, config.num_heads, "GPT");
    if (config.attention.max_seq_len)
        throw ValueError("GPT: attention.max_seq_len is ", *config.attention.max_seq_len, ", but block_size, ",
                         config.block_size, ", is the longest sequence; leave it out");
    return config;
}

}  // namespace

GPT::GPT(const GPTConfig& config, Rng& rng) : GPT(config, nn::RngGuard(rng)) {}

GPT::GPT(const GPTConfig& given, const nn::RngGuard& guard)
    : nn::Module("GPT"),
      config(checked_config(given)),
      token_embedding(
          register_module("token_embedding", nn::Embedding(config.vocab_size, config.d_model, guard))),
      position_embedding(
          config.attention.rotary_base
              ? nn::Embedding()
              : register_module("position_embedding", nn::Embedding(config.block_size, config.d_model, guard))),
      drop(register_module("drop", nn::Dropout(config.dropout, guard))),
      blocks(register_module("blocks", nn::ModuleList<nn::TransformerBlock>())),
      norm(register_module("norm",
                           nn::LayerNorm(config.d_model, {.eps = config.layer_norm_eps, .bias = config.bias}))),
      head(register_module("head", nn::Linear(token_embedding.weight))) {
    Rng& rng = guard;
    for (std::int64_t i = 0; i < config.num_layers; ++i)
        blocks.append(nn::TransformerBlock(config.d_model, config.num_heads, rng,
                                           {.max_seq_len = config.block_size,
                                            .bias = config.bias,
                                            .dropout = config.dropout,
                                            .dim_feedforward = config.dim_feedforward,
                                            .layer_norm_eps = config.layer_norm_eps,
                                            .attention = config.attention}));

    if (rng.skips_init()) return;  // they will be loaded
    const NoGrad off;
    const double residual_scale = 1 / std::sqrt(2.0 * static_cast<double>(config.num_layers));
    for (auto& [name, parameter] : named_parameters()) {
        if (name.ends_with(".bias")) parameter.copy_(zeros(parameter.shape()));
        if (parameter.rank() < 2) continue;
        double deviation = 1 / std::sqrt(static_cast<double>(parameter.size(1)));
        if (name.ends_with("embedding.weight")) deviation = 0.02;
        if (name.ends_with("W_out.weight")) deviation *= residual_scale;
        parameter.copy_(nn::normal(parameter.shape(), 0, deviation, rng));
    }
}

// ids (B, T) or (T,) that follow `past` tokens → (B, T, C) or (T, C).
Tensor GPT::embedded(const Tensor& ids, std::int64_t past) const {
    if (ids.rank() != 1 && ids.rank() != 2)
        throw ShapeError("GPT: ids must be (B, T) or (T,), not ", ids.shape());
    const std::int64_t T = ids.size(-1);
    if (past + T > config.block_size)
        throw ShapeError("GPT: ", T, " tokens in ", ids.shape(),
                         (past > 0 ? " after " + std::to_string(past) + " in the caches" : std::string()),
                         ", but block_size is ", config.block_size, "; pass the last block_size tokens",
                         (past > 0 ? ", and clear the caches" : ""));
    Tensor x = token_embedding(ids);
    if (position_embedding.weight.defined()) x = x + position_embedding(arange(T) + static_cast<double>(past));
    return traced("embedded", drop(x));
}

Tensor GPT::operator()(const Tensor& ids) const {  // (B, T)
    return nn::located(*this, [&] {
        Tensor x = embedded(ids, 0);                                    // (B, T, C)
        for (const nn::TransformerBlock& block : blocks) x = block(x);  // (B, T, C)
        return traced("logits", head(norm(x)));                         // (B, T, V)
    });
}

Tensor GPT::operator()(const Tensor& ids, std::vector<nn::KeyValueCache>& caches) const {  // (B, T)
    check_caches("GPT", caches, blocks.size());
    const std::int64_t past = caches[0].length();
    const nn::CacheGuard guard(caches);
    return nn::located(*this, [&] {
        Tensor x = embedded(ids, past);                                               // (B, T, C)
        for (std::size_t i = 0; i < caches.size(); ++i) x = blocks[i](x, caches[i]);  // (B, T, C)
        return traced("logits", head(norm(x)));                                       // (B, T, V)
    });
}

std::vector<nn::KeyValueCache> GPT::make_caches(std::optional<DType> stored_as) const {
    std::vector<nn::KeyValueCache> caches;
    for (std::size_t i = 0; i < blocks.size(); ++i) caches.emplace_back(config.block_size, stored_as);
    return caches;
}

}  // namespace weft::lm
