#include "weft/nn/transformer.h"

#include "nn/parts.h"
#include "weft/nn/clone.h"

namespace weft::nn {

namespace {

// Of LayerNorm, attention in num_heads heads and MLP. (In braces, which evaluate from left to right.)
PreNormBlock<LayerNorm, Attention, MLP> parts(const char* kind, std::int64_t d_model, std::int64_t num_heads,
                                              const RngGuard& rng, const TransformerBlockOptions& options,
                                              bool causal) {
    AttentionConfig config = attention_config(options);
    config.causal |= causal;
    return {kind,
            norm(d_model, options),
            Attention(d_model, num_heads, rng, config),
            norm(d_model, options),
            feedforward(d_model, rng, options),
            Dropout(options.dropout, rng)};
}

}  // namespace

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                   TransformerBlockOptions options)
    : PreNormBlock(parts("TransformerBlock", d_model, num_heads, RngGuard(rng), options, true)) {}

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                           TransformerBlockOptions options)
    : PreNormBlock(parts("EncoderBlock", d_model, num_heads, RngGuard(rng), options, false)) {}

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
      attn(register_module("attn", Attention(d_model, num_heads, rng, attention_config(options)))),
      norm2(register_module("norm2", norm(d_model, options))),
      cross(register_module("cross", Attention(d_model, num_heads, rng, cross_config(options)))),
      norm3(register_module("norm3", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

// N tokens, C = d_model, E experts, K = top_k.

namespace {

std::int64_t checked_top_k(const MixtureOfExpertsOptions& options) {
    checked_size(options.num_experts, "MixtureOfExperts: num_experts");
    if (options.top_k < 1 || options.top_k > options.num_experts)
        throw ValueError("MixtureOfExperts: top_k is ", options.top_k, "; use 1 to num_experts, ",
                         options.num_experts);
    return options.top_k;
}

}  // namespace

template <class Expert>
Mixture<Expert>::Mixture(std::int64_t d_model, Rng& rng, MixtureOfExpertsOptions options)
    : Mixture(d_model, RngGuard(rng), options) {}

template <class Expert>
Mixture<Expert>::Mixture(std::int64_t d_model, const RngGuard& rng, MixtureOfExpertsOptions options)
    : Module("MixtureOfExperts"),
      top_k(checked_top_k(options)),
      norm_topk_prob(options.norm_topk_prob),
      gate(register_module(
          "gate", Linear(checked_size(d_model, "MixtureOfExperts: d_model"), options.num_experts, rng, false))),
      experts(register_module("experts", ModuleList<Expert>())) {
    for (std::int64_t e = 0; e < options.num_experts; ++e)
        experts.append(
            Expert(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias}));
}

template <class Expert>
RoutingResult Mixture<Expert>::with_routing(const Tensor& x) const {
    return located(*this, [&] { return routed(x); });
}

template <class Expert>
RoutingResult Mixture<Expert>::routed(const Tensor& x) const {
    const Tensor logits = gate(x);  // (…, E)
    const std::int64_t C = x.size(-1), E = logits.size(-1), K = top_k, N = x.numel() / C;
    const Tensor probs = traced("router_probs", softmax(logits, -1).reshape({N, E}));  // (N, E)
    auto [gates, chosen] = topk(probs, K);                                             // (N, K)
    if (norm_topk_prob) gates = gates / sum(gates, -1, true);

    // The N·K choices in the order of their experts: each expert computes consecutive rows.
    const Tensor choices = chosen.reshape({-1}), order = argsort(choices);        // (N·K,)
    const Tensor token_of = arange(N).unsqueeze(1).expand({N, K}).reshape({-1});  // (N·K,)
    const Tensor token = index_select(token_of, 0, order);                        // (N·K,)
    const Tensor counts = sum(one_hot(choices, E), 0);                            // (E,)
    std::vector<Tensor> rows =
        split(index_select(x.reshape({N, C}), 0, token), counts.to_vector<std::int64_t>());
    for (std::size_t e = 0; e < rows.size(); ++e) rows[e] = experts[e](rows[e]);  // (n_e, C)

    const Tensor gated = cat(rows) * index_select(gates.reshape({-1}), 0, order).unsqueeze(1);  // (N·K, C)
    const Tensor y = scatter_add({N, C}, 0, token.unsqueeze(1).expand({N * K, C}), gated);      // (N, C)

    const Tensor f = counts.to(probs.dtype()) / static_cast<double>(N * K), P = mean(probs, 0);        // (E,)
    return {y.reshape(x.shape()), traced("load_balancing_loss", sum(f * P) * static_cast<double>(E)),  // ()
            traced("tokens_per_expert", f)};
}

template struct Mixture<GatedMLP>;
template struct Mixture<MLP>;

}  // namespace weft::nn
