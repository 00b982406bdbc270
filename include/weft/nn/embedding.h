// Embedding: a row of a table for each id.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// ids int64 (…) → (…, embedding_dim), with weight (num_embeddings, embedding_dim), at first standard normal, as
// PyTorch's. ValueError unless num_embeddings ≥ 1 and embedding_dim ≥ 1; IndexError from `embedding` on an id
// below 0 or from num_embeddings on, naming its position.
struct Embedding : Module {
    Tensor weight;  // (num_embeddings, embedding_dim)

    Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, Rng& rng);  // weight drawn from `rng`
    // ids (…) → (…, embedding_dim).
    Tensor operator()(const Tensor& ids) const { return embedding(weight, ids); }
};

}  // namespace weft::nn
