// What networks for pictures add: Conv2d, and BatchNorm over its channels.
#pragma once

#include "weft/nn/module.h"
#include "weft/ops.h"

namespace weft::nn {

// Options of Conv2d.
struct Conv2dOptions {
    std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;  // see ConvOptions
    bool bias = true;                                                // whether to add one
};

// conv2d(x, weight, bias): x (N, in, H, W) → (N, out, H', W'), with weight (out, in / groups, k, k) and bias
// (out,), both initially uniform in ±1/√(in / groups · k²) as in PyTorch. Call the function conv2d for windows
// that are not square. ValueError unless the sizes are at least 1 and groups divides in and out; conv2d refuses
// the rest.
//
//     nn::Conv2d conv(1, 6, 5, rng, {.padding = 2});
//     const Tensor y = relu(conv(x));  // (N, 1, 28, 28) → (N, 6, 28, 28)
struct Conv2d : Module {
    Parameter weight;           // (out, in / groups, k, k)
    Parameter bias;             // (out,), undefined without bias
    const ConvOptions options;  // stride, padding, dilation and groups

    // Windows of k × k = kernel_size × kernel_size; draws initial values from `rng`.
    Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Rng& rng,
           const Conv2dOptions& options = {});
    // The same from default_rng().
    Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
           const Conv2dOptions& options = {})
        : Conv2d(in_channels, out_channels, kernel_size, default_rng(), options) {}
    // x (N, in, H, W) → (N, out, H', W').
    Tensor operator()(const Tensor& x) const {
        return located(*this, [&] { return conv2d(x, weight, bias, options); });
    }

private:
    Conv2d(const Shape& filters, Rng& rng, const Conv2dOptions& options);
};

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
