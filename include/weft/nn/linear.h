// Linear: y = x Wᵀ + b.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// y = x Wᵀ + b: x (…, in) → (…, out), with weight W (out, in) and bias b (out,), both initially uniform in
// ±1/√in as in PyTorch. ValueError unless in ≥ 1 and out ≥ 1; ShapeError from `linear` unless x fits.
//
//     nn::Linear layer(4, 3, rng);
//     const Tensor y = layer(x);        // (B, 4) → (B, 3)
//     nn::Linear output(table.weight);  // no bias; output.weight.handle() == table.weight.handle()
struct Linear : Module {
    Parameter weight;  // (out, in)
    Parameter bias;    // (out,), undefined without bias

    Linear() = delete;  // write nn::Linear layer = register_module("layer", nn::Linear(in, out)); in the class
    // Draws initial values from `rng`.
    Linear(std::int64_t in_features, std::int64_t out_features, Rng& rng, bool bias = true);
    // The same from default_rng().
    Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true)
        : Linear(in_features, out_features, default_rng(), bias) {}
    // Uses a weight (out, in), tied if it is a parameter elsewhere, and a bias (out,) or none. The weight may
    // be half or in blocks (weft/ops/packed.h): then only the bias is trained. ShapeError at other ranks.
    //
    //     const nn::Linear small(Tensor(pack(layer.weight, BlockFormat::Q8_0)), layer.bias);
    explicit Linear(Tensor weight, Tensor bias = {});
    // x (…, in) → (…, out).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return linear(x, weight, bias); });
    }
};

}  // namespace weft::nn
