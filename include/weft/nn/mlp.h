// MLP: the two-layer network of a transformer block.
#pragma once

#include "weft/nn/linear.h"

namespace weft::nn {

// Options of MLP.
struct MLPOptions {
    std::int64_t dim_feedforward = 0;  // 4 · d_model when 0
    bool bias = true;                  // of both layers
};

// W_out gelu(W_in x), GELU in its tanh form, as GPT-2 (Vaswani et al., "Attention is all you need", 2017, §3.3,
// with GELU). x (…, C) → (…, C), C = d_model. ValueError unless d_model ≥ 1 and dim_feedforward ≥ 0.
struct MLP : Module {
    Linear W_in;   // C → hidden
    Linear W_out;  // hidden → C

    MLP(std::int64_t d_model, Rng& rng, MLPOptions options = {});  // initial values from `rng`
    // x (…, C) → (…, C).
    Tensor operator()(const Tensor& x) const { return W_out(gelu(W_in(x), Gelu::tanh)); }
};

}  // namespace weft::nn
