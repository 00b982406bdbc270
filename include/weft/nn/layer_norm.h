// LayerNorm: every token to mean 0 and variance 1, then scaled and shifted.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// What a LayerNorm may be told.
struct LayerNormOptions {
    double eps = 1e-5;  // added to the variance
    bool bias = true;   // whether there is one
};

// (x − mean) / √(var + eps) · weight + bias over the last axis (Ba, Kiros and Hinton, "Layer normalization",
// 2016, eq. 4). x (…, dim) → (…, dim), with weight (dim,) of ones and bias (dim,) of zeros. ValueError unless
// dim ≥ 1 and eps > 0; ShapeError from `layer_norm` where x's last axis is not dim.
struct LayerNorm : Module {
    Tensor weight;  // (dim,)
    Tensor bias;    // (dim,), undefined without bias
    double eps;     // as made

    // The width of the last axis; nothing is drawn.
    explicit LayerNorm(std::int64_t dim, LayerNormOptions options = {});
    // x (…, dim) → (…, dim).
    Tensor operator()(const Tensor& x) const { return layer_norm(x, weight, bias, eps); }
};

}  // namespace weft::nn
