#include "weft/nn/init.h"
#include "weft/ops.h"

namespace weft::nn {

Tensor uniform(const Shape& shape, double low, double high, Rng& rng) {
    if (rng.skips_init()) return zeros(shape);
    return rand(shape, rng) * (high - low) + low;
}

Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng) {
    if (rng.skips_init()) return zeros(shape);
    Tensor x = randn(shape, rng);  // scaled in place: an embedding may be the largest tensor of a model
    x.mul_(deviation);
    return mean == 0 ? x : x + mean;
}

}  // namespace weft::nn
