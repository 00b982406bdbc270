#include "weft/nn/embedding.h"

#include "nn/parts.h"
#include "weft/nn/init.h"

namespace weft::nn {

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, Rng& rng)
    : Module("Embedding"),
      weight(register_weight("weight", normal({checked_size(num_embeddings, "Embedding: num_embeddings"),
                                               checked_size(embedding_dim, "Embedding: embedding_dim")},
                                              0, 1, rng))) {}

Embedding::Embedding(Tensor table) : Module("Embedding"), weight(register_weight("weight", table)) {
    if (table.rank() != 2)
        throw ShapeError("Embedding: the table must be (num_embeddings, embedding_dim), not ", table.shape());
}

}  // namespace weft::nn
