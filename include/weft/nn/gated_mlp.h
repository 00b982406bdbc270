// GatedMLP: the feed-forward network of Llama and its successors.
#pragma once

#include "weft/nn/linear.h"

namespace weft::nn {

// Options of GatedMLP.
struct GatedMLPOptions {
    std::int64_t dim_feedforward = 0;  // width of the hidden layer; 0 means ⌊8 · d_model / 3⌋
    bool bias = false;                 // whether the three layers have a bias
};

// y = down_proj(silu(gate_proj x) ⊙ up_proj x), SwiGLU (Shazeer, "GLU variants improve transformer", 2020, eq.
// 6). Each hidden number is a product: the gate decides how much of it passes. With the default width it has as
// many weights as an MLP of width 4 · d_model. x (…, C) → (…, C), C = d_model. ValueError unless d_model ≥ 1
// and dim_feedforward ≥ 0; `rng` then has drawn nothing. The names of the layers are those of transformers.
//
//     nn::GatedMLP mlp(64, rng, {.dim_feedforward = 176});
//     const Tensor y = mlp(x);  // (B, T, 64) → (B, T, 64), mlp.up_proj.weight (176, 64)
struct GatedMLP : Module {
    Linear gate_proj;  // C → dim_feedforward
    Linear up_proj;    // C → dim_feedforward
    Linear down_proj;  // dim_feedforward → C

    GatedMLP(std::int64_t d_model, Rng& rng, GatedMLPOptions options = {});  // draws initial values from `rng`
    // The same from default_rng().
    explicit GatedMLP(std::int64_t d_model, GatedMLPOptions options = {})
        : GatedMLP(d_model, default_rng(), options) {}
    // x (…, C) → (…, C).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return down_proj(silu(gate_proj(x)) * up_proj(x)); });
    }

private:
    GatedMLP(std::int64_t d_model, std::int64_t hidden, bool bias, Rng& rng);
};

}  // namespace weft::nn
