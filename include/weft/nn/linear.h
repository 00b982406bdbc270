// Linear: y = x Wᵀ + b.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// x (…, in) → (…, out), with weight (out, in) and bias (out,). First values of both are uniform in ±1/√in, as
// PyTorch's. ValueError unless in ≥ 1 and out ≥ 1; ShapeError from `linear` where x's last axis is not `in`.
struct Linear : Module {
    Tensor weight;  // (out, in)
    Tensor bias;    // (out,), undefined without bias

    Linear(std::int64_t in_features, std::int64_t out_features, Rng& rng,
           bool bias = true);        // first values from `rng`
    explicit Linear(Tensor weight);  // no bias, and a weight from elsewhere: tied where it is a parameter there
    // x (…, in) → (…, out).
    Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
};

}  // namespace weft::nn
