// The loss of a classifier, such as a model of language. Logits are one number for each class (each next
// token); the loss is small where softmax gives the right class a probability near 1.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"

namespace weft {

// The mean of −ln softmax(logits)[target] over the targets other than ignore_index, 0 if there are none:
// logits (…, V), targets (…) int64 → (). ShapeError if they do not fit; IndexError, with its position, for a
// target out of range.
//
//     const Tensor logits = zeros({2, 3, 5});                           // 2 texts, 3 tokens, 5 classes
//     const Tensor targets = tensor({{0, 1, 2}, {3, 4, -100}}, int64);  // the last one is ignored
//     const Tensor loss = cross_entropy(logits, targets);               // ln 5 = 1.6094379
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index = -100);

}  // namespace weft
