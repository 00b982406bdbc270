#include "weft/nn/batch_norm.h"

#include "nn/parts.h"
#include "weft/ops/creation.h"
#include "weft/ops/norms.h"

namespace weft::nn {

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
