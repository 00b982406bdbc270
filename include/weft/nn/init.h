// First values of parameters.
#pragma once

#include "weft/core/tensor.h"

namespace weft::nn {

// Zeros from an Rng::skip_init.
Tensor uniform(const Shape& shape, double low, double high, Rng& rng);  // each element uniform in [low, high)
Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng);  // each element normal

}  // namespace weft::nn
