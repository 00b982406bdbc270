// Sampling: one token drawn from a language model's logits. V vocabulary.
#pragma once

#include "weft/core/tensor.h"

namespace weft::lm {

// Options of sample.
struct SampleOptions {
    double temperature = 1;  // 0 takes the largest logit; ValueError if negative or not finite
    std::int64_t top_k = 0;  // keep the k largest logits; 0 or more than V keeps all. ValueError if negative
    Rng* rng = nullptr;      // default_rng() if null
    // Of those, keep the most likely ones, at least one, until their probabilities sum to p (Holtzman et al.,
    // "The curious case of neural text degeneration", 2020, §3.1); 1 keeps all. ValueError unless 0 < p ≤ 1.
    double top_p = 1;
    // Keep those whose probability is at least min_p times the largest (Nguyen et al., "Turning up the heat:
    // min-p sampling", 2024, §3), before top_k and top_p; 0 sets no limit. ValueError unless 0 ≤ min_p ≤ 1.
    double min_p = 0;
};

// One id, drawn with probability softmax(logits / temperature) from logits (V,) of any floating type. Among
// equal logits the first counts as the largest.
//
//     Rng rng(1);
//     const Tensor logits = tensor({0.0, 2, 1});
//     const std::int64_t likeliest = lm::sample(logits, {.temperature = 0});     // 1
//     const std::int64_t drawn = lm::sample(logits, {.top_k = 2, .rng = &rng});  // 1 or 2
//
// ShapeError unless logits are (V,) with V ≥ 1, DTypeError unless floating; ValueError for a logit of NaN or
// +∞, and if all are −∞, at every temperature.
std::int64_t sample(const Tensor& logits, const SampleOptions& options);

}  // namespace weft::lm
