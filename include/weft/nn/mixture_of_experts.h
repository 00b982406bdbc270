// MixtureOfExperts: several feed-forward networks, of which each token uses a few.
#pragma once

#include "weft/nn/layers.h"

namespace weft::nn {

// Options of MixtureOfExperts.
struct MixtureOfExpertsOptions {
    std::int64_t num_experts = 8;      // E
    std::int64_t top_k = 2;            // experts that compute a token
    std::int64_t dim_feedforward = 0;  // hidden width of an expert; 0 means that of GatedMLP or MLP
    bool bias = false;                 // whether the layers of the experts have a bias
    bool norm_topk_prob = true;        // whether the top_k gates of a token are divided by their sum
};

// What with_routing returns.
struct RoutingResult {
    Tensor output;               // (…, C)
    Tensor load_balancing_loss;  // (): E · Σ_e f_e · P_e, 1 where the router spreads tokens evenly
    Tensor tokens_per_expert;    // (E,): f_e, the share of the choices that fell on expert e; they add up to 1
};

// y = Σ_e g_e · expert_e(x) over the top_k experts e with the largest p_e, p = softmax(gate x), and g_e = p_e,
// divided by their sum if norm_topk_prob (Shazeer et al., "Outrageously large neural networks", 2017, §2, with
// the gates of Mixtral). An expert computes the tokens that chose it and no others. x (…, C) → (…, C), C =
// d_model, E = num_experts. Expert is GatedMLP or MLP. ValueError unless num_experts ≥ 1, 1 ≤ top_k ≤
// num_experts, and the expert accepts its sizes; `rng` then has drawn nothing. ShapeError from `linear` unless
// x fits. The names of the layers are those of transformers' Qwen3-MoE.
//
//     nn::MixtureOfExperts moe(64, rng, {.num_experts = 4, .top_k = 2});
//     const nn::RoutingResult y = moe.with_routing(x);
//     // y.output (B, T, 64), y.load_balancing_loss (), y.tokens_per_expert (4,)
//     (mean(pow(y.output, 2)) + 0.01 * y.load_balancing_loss).backward();
//     nn::Mixture<nn::MLP> plain(64, rng, {.top_k = 1, .norm_topk_prob = false});  // as Switch Transformers
//
// With top_k = 1 a gate divided by its sum is 1, and the loss of the output has no gradient for the router: set
// norm_topk_prob = false. In a block, which returns y alone, a Trace has the loss:
//
//     const nn::PreNormBlock block{"MoEBlock", nn::RMSNorm(64), nn::CausalMultiHeadAttention(64, 8, rng),
//                                  nn::RMSNorm(64), nn::MixtureOfExperts(64, rng)};
//     const Trace trace;
//     Tensor loss = mean(pow(block(x), 2));
//     for (const TraceEntry& entry : trace.entries())
//         if (entry.name == "load_balancing_loss") loss = loss + 0.01 * entry.tensor;
template <class Expert>
struct Mixture : Module {
    const std::int64_t top_k;    // as in the options
    const bool norm_topk_prob;   // as in the options
    Linear gate;                 // the router, C → E, without bias
    ModuleList<Expert> experts;  // E of them, each C → C

    // Draws initial values from `rng`.
    Mixture(std::int64_t d_model, Rng& rng, MixtureOfExpertsOptions options = {});
    // The same from default_rng().
    explicit Mixture(std::int64_t d_model, MixtureOfExpertsOptions options = {})
        : Mixture(d_model, default_rng(), options) {}
    // x (…, C) → (…, C).
    Tensor operator()(const Tensor& x) const { return with_routing(x).output; }
    // The same, with the load-balancing loss (Fedus, Zoph and Shazeer, "Switch Transformers", 2021, §2.2, eq.
    // 4, without α) and the tokens per expert. P_e is the mean of p_e over the tokens, and f_e has no gradient.
    // For top_k > 1 transformers has top_k times this loss.
    RoutingResult with_routing(const Tensor& x) const;

private:
    Mixture(std::int64_t d_model, const RngGuard& rng, MixtureOfExpertsOptions options);
    RoutingResult routed(const Tensor& x) const;
};

using MixtureOfExperts = Mixture<GatedMLP>;  // experts as in Mixtral and its successors

}  // namespace weft::nn
