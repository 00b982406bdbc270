// Sums and means over axes, and softmax along one.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"

namespace weft {

// Σx over `axes`: one axis, several, or all if none is given. Reduced axes are dropped, or have size 1 with
// keepdim. 0 over an empty axis. A bool tensor is counted: int64. IndexError if an axis is named twice, here
// and below.
//
//     const Tensor x = tensor({{1.0, 2, 3}, {4, 5, 6}});
//     const Tensor total = sum(x);              // (): 21
//     const Tensor columns = sum(x, 0);         // (3,): [5, 7, 9]
//     const Tensor rows = mean(x, 1, keepdim);  // (2, 1): [[2], [5]]
Tensor sum(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false);
// Σx / n; NaN over an empty axis. Of a bool tensor, the share that is true: float32.
Tensor mean(const Tensor& x, const Axes& axes = {}, KeepDim keepdim = false);

// e^(x_i) / Σ_j e^(x_j) along the axis, computed without overflow by subtracting the maximum first; of x's
// shape. A fully masked row, all −inf, gives zeros with gradient 0.
//
//     const Tensor p = softmax(tensor({0.0, std::log(3)}), -1);  // [0.25, 0.75]
Tensor softmax(const Tensor& x, int axis);
Tensor softmax(const Tensor& x) = delete;  // name the axis: softmax(x, -1)
// x_i − ln Σ_j e^(x_j) along the axis; of x's shape. A row of −inf gives −inf with gradient 0.
Tensor log_softmax(const Tensor& x, int axis);
// The transpose of broadcast_to: sums x over the axes that broadcasting from `shape` to x's shape stretches.
// ShapeError if `shape` does not broadcast to x's. A gradient rule uses it to undo broadcasting:
//
//     const Tensor dy = ones({4, 3});
//     const Tensor db = sum_to(dy, {3});  // (4, 3) → (3,): [4, 4, 4]
Tensor sum_to(const Tensor& x, const Shape& shape);

// The loss of a classifier, such as a model of language. Logits are one number for each class (each next
// token); the loss is small where softmax gives the right class a probability near 1.

// The mean of −ln softmax(logits)[target] over the targets other than ignore_index, 0 if there are none:
// logits (…, V), targets (…) int64 → (). ShapeError if they do not fit; IndexError, with its position, for a
// target out of range.
//
//     const Tensor logits = zeros({2, 3, 5});                           // 2 texts, 3 tokens, 5 classes
//     const Tensor targets = tensor({{0, 1, 2}, {3, 4, -100}}, int64);  // the last one is ignored
//     const Tensor loss = cross_entropy(logits, targets);               // ln 5 = 1.6094379
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, std::int64_t ignore_index = -100);

}  // namespace weft
