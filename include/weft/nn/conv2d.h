// Conv2d: a convolution with learned filters.
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

}  // namespace weft::nn
