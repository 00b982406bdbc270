// Embedding: one row of a table per id.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// y = weight[ids]: ids int64 (…) → (…, embedding_dim), with weight (num_embeddings, embedding_dim), initially
// standard normal as in PyTorch. ValueError unless both sizes are at least 1; IndexError from `embedding`
// unless 0 ≤ id < num_embeddings, naming the id's position.
//
//     nn::Embedding tokens(50, 16, rng);
//     const Tensor y = tokens(from_vector(std::vector<std::int64_t>{7, 3, 7}, {3}));  // (3) → (3, 16)
struct Embedding : Module {
    Parameter weight;  // (num_embeddings, embedding_dim)

    Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim,
              Rng& rng = default_rng());  // draws weight from `rng`
    // Uses a table (num_embeddings, embedding_dim), tied if it is a parameter elsewhere; half or in blocks as
    // Linear's weight. ShapeError at other ranks.
    explicit Embedding(Tensor weight);
    Embedding() : Module("Embedding") {}  // without a table: `weight` is undefined
    // ids (…) → (…, embedding_dim).
    Tensor operator()(const Tensor& ids) const {
        return located(*this, [&] { return embedding(weight, ids); });
    }
};

}  // namespace weft::nn
