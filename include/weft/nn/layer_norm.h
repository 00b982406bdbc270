// LayerNorm: normalises each token to mean 0 and variance 1, then scales and shifts it.
#pragma once

#include <concepts>

#include "weft/nn/module.h"

namespace weft::nn {

// Options of LayerNorm.
//
//     const nn::LayerNormOptions options{.eps = 1e-6, .bias = false};
//     const nn::LayerNorm norm(64, options);  // norm.bias.defined() is false
struct LayerNormOptions {
    double eps = 1e-5;  // added to the variance
    bool bias = true;   // whether to shift
};

// y = (x − mean) / √(var + eps) · weight + bias over the last axis (Ba, Kiros and Hinton, "Layer
// normalization", 2016, eq. 4). x (…, dim) → (…, dim); weight (dim,) is initially ones, bias (dim,) zeros.
// ValueError unless dim ≥ 1 and eps > 0; ShapeError from `layer_norm` unless the last axis of x is dim.
//
//     nn::LayerNorm norm(64);
//     const Tensor y = norm(x);  // (B, T, 64) → (B, T, 64), each token with mean 0 and variance 1
struct LayerNorm : Module {
    Parameter weight;  // (dim,)
    Parameter bias;    // (dim,), undefined without bias
    const double eps;  // eps of the options

    explicit LayerNorm(std::int64_t dim, LayerNormOptions options = {});  // normalises tokens of width dim
    template <std::floating_point T>
    LayerNorm(std::int64_t dim, T eps) = delete;  // write LayerNorm(64, {.eps = 1e-6})
    // x (…, dim) → (…, dim).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return layer_norm(x, weight, bias, eps); });
    }
};

}  // namespace weft::nn
