#include "weft/nn/linear.h"

#include <cmath>

#include "nn/parts.h"
#include "weft/nn/init.h"

namespace weft::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, Rng& rng, bool with_bias)
    : Module("Linear") {
    const double bound = 1 / std::sqrt(static_cast<double>(checked_size(in_features, "Linear: in_features")));
    weight = register_parameter(
        "weight",
        uniform({checked_size(out_features, "Linear: out_features"), in_features}, -bound, bound, rng));
    if (with_bias) bias = register_parameter("bias", uniform({out_features}, -bound, bound, rng));
}

Linear::Linear(Tensor shared) : Module("Linear") {
    if (shared.rank() != 2) throw ShapeError("Linear: the weight must be (out, in), not ", shared.shape());
    weight = register_parameter("weight", std::move(shared));
}

}  // namespace weft::nn
