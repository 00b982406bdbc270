// Embedding: a row of a table for each id.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// ids int64 (…) → (…, dim), with weight (count, dim), at first standard normal, as PyTorch's. ValueError unless
// count ≥ 1 and dim ≥ 1; IndexError from `embedding` on an id below 0 or from count on, naming its position.
struct Embedding : Module {
    Tensor weight;  // (count, dim)

    Embedding(std::int64_t count, std::int64_t dim, Rng& rng);  // weight drawn from `rng`
    // ids (…) → (…, dim).
    Tensor operator()(const Tensor& ids) const { return embedding(weight, ids); }
};

}  // namespace weft::nn
