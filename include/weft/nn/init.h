// Initial values of parameters.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft::nn {

// Returns a float32 tensor with each element uniform in [low, high); zeros if `rng` was made by Rng::skip_init.
//
//     const Tensor w = nn::uniform({4, 3}, -0.5, 0.5, rng);  // (4, 3)
Tensor uniform(const Shape& shape, double low, double high, Rng& rng = default_rng());
// The same with normally distributed elements.
//
//     const Tensor w = nn::normal({4, 3}, 0, 0.02, rng);  // (4, 3)
Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng = default_rng());

}  // namespace weft::nn
