// RMSNorm: scales each token to a root mean square of 1, then by a learned weight.
#pragma once

#include <concepts>

#include "weft/nn/module.h"

namespace weft::nn {

// Options of RMSNorm.
struct RMSNormOptions {
    std::optional<double> eps = {};  // added to the mean of the squares
};

// y = x / √(mean x² + eps) · weight over the last axis (Zhang and Sennrich, "Root mean square layer
// normalization", 2019, eq. 4). x (…, dim) → (…, dim); weight (dim,) is initially ones. Without eps it is the
// machine epsilon of x's type, as in PyTorch. ValueError unless dim ≥ 1 and eps > 0; ShapeError from `rms_norm`
// unless the last axis of x is dim.
//
//     nn::RMSNorm norm(64, {.eps = 1e-6});
//     const Tensor y = norm(x);  // (B, T, 64) → (B, T, 64), the squares of each token with mean 1
struct RMSNorm : Module {
    Parameter weight;                 // (dim,)
    const std::optional<double> eps;  // eps of the options

    explicit RMSNorm(std::int64_t dim, RMSNormOptions options = {});  // normalises tokens of width dim
    template <std::floating_point T>
    RMSNorm(std::int64_t dim, T eps) = delete;  // write RMSNorm(64, {.eps = 1e-6})
    // x (…, dim) → (…, dim).
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return rms_norm(x, weight, eps); });
    }
};

}  // namespace weft::nn
