// Gradients of a bounded norm.
#pragma once

#include <vector>

#include "weft/core/tensor.h"
#include "weft/nn/module.h"

namespace weft::optim {

// Internal: Fast passes over the values of a tensor, float32 or float64.

constexpr std::int64_t block = 1 << 14;  // elements of a task

// Returns Σ(scale · x)² in double, added up in a fixed order.
double sum_of_squares(const Tensor& x, double scale = 1);

// Returns the largest |x|; a NaN is passed over.
double largest_of(const Tensor& x);

// Whether no element is NaN or infinite.
bool all_finite(const Tensor& x);

// Gradients of a bounded norm.

// Multiplies each gradient by min(1, max_norm / (n + 1e-6)), as PyTorch does, and returns n = ‖all gradients
// together‖₂ (inf beyond float64). Parameters without a gradient are skipped, tied ones count once. A gradient
// that is NaN or infinite changes nothing, and step() names it. ValueError when max_norm is negative or NaN.
//
//     const double norm = optim::clip_grad_norm(model, 1.0);  // the norm before clipping
double clip_grad_norm(const std::vector<Tensor>& parameters, double max_norm);
double clip_grad_norm(const nn::Module& module, double max_norm);

}  // namespace weft::optim
