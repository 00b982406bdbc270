#include "weft/nn/convolution.h"

#include <cmath>

#include "nn/parts.h"
#include "weft/core/creation.h"
#include "weft/nn/init.h"
#include "weft/ops/norms.h"

namespace weft::nn {

namespace {

Shape checked_shape(std::int64_t in, std::int64_t out, std::int64_t k, std::int64_t groups) {
    checked_size(groups, "Conv2d: groups");
    checked_size(in, "Conv2d: in_channels");
    checked_size(out, "Conv2d: out_channels");
    checked_size(k, "Conv2d: kernel_size");
    if (in % groups != 0 || out % groups != 0)
        throw ValueError("Conv2d: ", groups, " groups do not divide ", in, " and ", out,
                         " channels; both must be multiples");
    return {out, in / groups, k, k};
}

// Uniform in ±1/√(in / groups · k²), for a weight of shape `filters`.
Tensor initial_of_filters(const Shape& shape, const Shape& filters, Rng& rng) {
    const double bound = 1 / (static_cast<double>(filters[2]) * std::sqrt(static_cast<double>(filters[1])));
    return uniform(shape, -bound, bound, rng);
}

}  // namespace

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Rng& rng,
               const Conv2dOptions& o)
    : Conv2d(checked_shape(in_channels, out_channels, kernel_size, o.groups), rng, o) {}

Conv2d::Conv2d(const Shape& filters, Rng& rng, const Conv2dOptions& o)
    : Module("Conv2d"),
      weight(register_parameter("weight", initial_of_filters(filters, filters, rng))),
      bias(o.bias ? register_parameter("bias", initial_of_filters({filters[0]}, filters, rng)) : Parameter()),
      options{o.stride, o.padding, o.dilation, o.groups} {}

BatchNorm::BatchNorm(std::int64_t num_features, double eps, double momentum)
    : Module("BatchNorm"),
      weight(register_parameter("weight", ones({checked_size(num_features, "BatchNorm: num_features")}))),
      bias(register_parameter("bias", zeros({num_features}))),
      running_mean(register_buffer("running_mean", zeros({num_features}))),
      running_var(register_buffer("running_var", ones({num_features}))),
      num_batches_tracked(register_buffer("num_batches_tracked", zeros({}, int64))),
      eps(eps),
      momentum(momentum) {
    if (!(eps > 0)) throw ValueError("BatchNorm: eps must be above 0, not ", eps);
}

Tensor BatchNorm::operator()(const Tensor& x) const {
    const Tensor y = located(*this, [&] {
        return batch_norm(x, {running_mean, running_var}, weight, bias, {training(), momentum, eps});
    });
    Tensor batches = num_batches_tracked;
    if (training()) batches += 1;
    return y;
}

}  // namespace weft::nn
