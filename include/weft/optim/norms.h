// Internal: Fast passes over the values of a tensor, float32 or float64.
#pragma once

#include "weft/core/tensor.h"

namespace weft::optim {

constexpr std::int64_t block = 1 << 14;  // elements of a task

// Returns Σ(scale · x)² in double, added up in a fixed order.
double sum_of_squares(const Tensor& x, double scale = 1);

// Returns the largest |x|; a NaN is passed over.
double largest_of(const Tensor& x);

// Whether no element is NaN or infinite.
bool all_finite(const Tensor& x);

}  // namespace weft::optim
