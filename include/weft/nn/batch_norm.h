// BatchNorm: normalises each channel over the batch.
#pragma once

#include "weft/nn/module.h"
#include "weft/ops.h"

namespace weft::nn {

// batch_norm: x (N, C, …) → the same, C = num_features; weight (C,) is initially ones, bias (C,) zeros. In
// training with the batch's own mean and variance, which also enter the running ones; in evaluation with those.
// ValueError unless num_features ≥ 1 and eps > 0; batch_norm refuses the rest.
//
//     nn::BatchNorm norm(6);
//     const Tensor y = norm(x);  // (N, 6, H, W) → (N, 6, H, W), each channel with mean 0 and variance 1
//     norm.eval();               // from now on with norm.running_mean and norm.running_var
struct BatchNorm : Module {
    Parameter weight, bias;            // (C,)
    Buffer running_mean, running_var;  // (C,), initially zeros and ones
    Buffer num_batches_tracked;        // () int64: the number of batches in the running statistics
    const double eps;                  // added to the variance
    const double momentum;             // running ← (1 − momentum) · running + momentum · new

    explicit BatchNorm(std::int64_t num_features, double eps = 1e-5, double momentum = 0.1);  // for C channels
    Tensor operator()(const Tensor& x) const;  // x (N, C, …) → the same
};

}  // namespace weft::nn
