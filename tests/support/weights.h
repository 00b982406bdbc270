// Attention weights to draw.
#pragma once

#include <cmath>

#include "weft/weft.h"

// Random, causal, (…, T, T): softmax over the keys that each query sees.
inline weft::Tensor causal_weights(const weft::Shape& shape, std::uint64_t seed) {
    weft::Rng rng(seed);
    const std::int64_t T = shape.back();
    const weft::Tensor future = weft::Mask::causal().materialize(1, 1, T, T).reshape({T, T});
    return softmax(masked_fill(randn(shape, rng) * 2, future, -INFINITY), -1);
}
