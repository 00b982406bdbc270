// Sampling: one token drawn from what a language model says. V vocabulary.
#pragma once

#include "weft/core/tensor.h"

namespace weft::nn {

// How an id is drawn.
struct SampleOptions {
    double temperature = 1;  // 0: the first of the largest logits; ValueError when negative or not finite
    std::int64_t top_k = 0;  // only the k largest logits (of equals the first); 0 or more than V: all of them
    Rng* rng = nullptr;      // ValueError when missing and temperature > 0
    // Of those, only the likeliest whose probabilities first sum to p or more, at least one (Holtzman et al.,
    // "The curious case of neural text degeneration", 2020, §3.1); 1: all of them. ValueError unless 0 < p ≤ 1.
    double top_p = 1;
};

// One id, drawn with probability softmax(logits / temperature) from logits (V,), any floating type. ShapeError
// unless rank is 1 and V ≥ 1; ValueError on a NaN or +inf logit.
std::int64_t sample(const Tensor& logits, const SampleOptions& options);

}  // namespace weft::nn
