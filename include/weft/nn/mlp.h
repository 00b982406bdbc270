// MLP: the two-layer network of a transformer block.
#pragma once

#include "weft/nn/linear.h"

namespace weft::nn {

// Options of MLP.
//
//     const nn::MLPOptions options{.dim_feedforward = 128};
//     const nn::MLP narrow(64, options);  // narrow.W_in.weight (128, 64)
struct MLPOptions {
    std::int64_t dim_feedforward = 0;  // width of the hidden layer; 0 means 4 · d_model
    bool bias = true;                  // whether both layers have a bias
};

// y = W_out gelu(W_in x), with GELU in its tanh form as in GPT-2 (Vaswani et al., "Attention is all you need",
// 2017, §3.3, with GELU for ReLU). x (…, C) → (…, C), C = d_model. ValueError unless d_model ≥ 1 and
// dim_feedforward ≥ 0.
//
//     nn::MLP mlp(64, rng);
//     const Tensor y = mlp(x);  // (B, T, 64) → (B, T, 64), with 256 hidden units
struct MLP : Module {
    Linear W_in;   // C → dim_feedforward
    Linear W_out;  // dim_feedforward → C

    MLP(std::int64_t d_model, Rng& rng, MLPOptions options = {});  // draws initial values from `rng`
    // The same from default_rng().
    explicit MLP(std::int64_t d_model, MLPOptions options = {}) : MLP(d_model, default_rng(), options) {}
    // x (…, C) → (…, C).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return W_out(gelu(W_in(x), Gelu::tanh)); });
    }
};

}  // namespace weft::nn
