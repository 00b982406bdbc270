// Losses, all means → ().
#pragma once

#include <cstdint>

#include "weft/autograd/tensor.h"

namespace weft {

// The mean of −ln softmax(logits)[target] over the targets other than ignore_index, 0 if there are none:
// logits (…, V), targets (…) int64 → (). ShapeError if they do not fit; IndexError, with its position, for a
// target out of range.
//
//     const Tensor logits = zeros({2, 3, 5});                           // 2 texts, 3 tokens, 5 classes
//     const Tensor targets = tensor({{0, 1, 2}, {3, 4, -100}}, int64);  // the last one is ignored
//     const Tensor loss = cross_entropy(logits, targets);               // ln 5
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index = -100);
// mean (prediction − target)² → (). ShapeError unless both have the same shape.
Tensor mse_loss(const Tensor& prediction, const Tensor& target);

// −Σ w_t · log_p[t] / Σ w_t over the targets t ≠ ignore_index: log_p (…, V), targets (…) int64, weight (V,) or
// undefined for 1. Errors as cross_entropy.
Tensor nll_loss(const Tensor& log_p, const Tensor& targets, const Tensor& weight = {},
                std::int64_t ignore_index = -100);
// Options of cross_entropy.
struct CrossEntropyOptions {
    Tensor weight = {};                // (V,): the weight of each class; undefined: 1
    double label_smoothing = 0;        // the share of each target that is spread over all classes, in [0, 1]
    std::int64_t ignore_index = -100;  // targets that do not count
};
// Cross-entropy with class weights and label smoothing (Szegedy et al., "Rethinking the Inception
// architecture", 2016, §7), normalised as in PyTorch.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options);
// mean(ln(1 + eˣ) − x·t): targets t in [0, 1], of the logits' shape (ShapeError).
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets);
Tensor l1_loss(const Tensor& prediction, const Tensor& target);  // mean |prediction − target|
// mean of ½d² where |d| < delta, else delta·(|d| − ½delta), with d = prediction − target (Huber, 1964, §1).
Tensor huber_loss(const Tensor& prediction, const Tensor& target, double delta = 1);

}  // namespace weft
