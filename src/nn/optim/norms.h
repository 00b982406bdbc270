// Looking at all the values of a tensor, fast.
#pragma once

#include "weft/core/tensor.h"

namespace weft::optim {

// Σx², in double; the same bits on every run. x is float32 or float64.
double sum_of_squares(const Tensor& x);

// No element is NaN or infinite. x is float32 or float64.
bool all_finite(const Tensor& x);

}  // namespace weft::optim
