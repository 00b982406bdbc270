#include "weft/nn/linear.h"

#include <cmath>

#include "nn/parts.h"
#include "weft/nn/init.h"

namespace weft::nn {

namespace {

// Uniform in ±1/√in.
Tensor initial(const Shape& shape, std::int64_t in_features, Rng& rng) {
    const double bound = 1 / std::sqrt(static_cast<double>(checked_size(in_features, "Linear: in_features")));
    return uniform(shape, -bound, bound, rng);
}

const Tensor& checked_weight(const Tensor& weight) {
    if (weight.rank() != 2) throw ShapeError("Linear: the weight must be (out, in), not ", weight.shape());
    return weight;
}

}  // namespace

Linear::Linear(std::int64_t in_features, std::int64_t out_features, Rng& rng, bool with_bias)
    : Module("Linear"),
      weight(register_weight(
          "weight",
          initial({checked_size(out_features, "Linear: out_features"), in_features}, in_features, rng))),
      bias(with_bias ? register_parameter("bias", initial({out_features}, in_features, rng)) : Parameter()) {}

Linear::Linear(Tensor shared, Tensor bias)
    : Module("Linear"),
      weight(register_weight("weight", checked_weight(shared))),
      bias(bias.defined() ? register_parameter("bias", std::move(bias)) : Parameter()) {}

}  // namespace weft::nn
