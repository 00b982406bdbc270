// Kernels along the last axis. All arrays are contiguous and of the same floating type: R rows of C elements.
#pragma once

#include "tensor/array.h"

namespace weft::kernels {

constexpr std::int64_t row_grain = 8192;  // elements of one task
constexpr std::int64_t norm_group = 16;   // rows whose contributions to dweight and dbias are summed first

// y = e^(x − max) / Σ; a row of −inf gives zeros.
void softmax(const Array& y, const Array& x);
// y = x − max − ln Σ e^(x − max); a row of −inf stays −inf.
void log_softmax(const Array& y, const Array& x);

// y = (x − mean) · rstd · weight + bias, with weight and bias (C,); mean (R, 2), rounded and what the rounding
// left, and rstd (R,) are saved for backward.
void layer_norm(const Array& y, const Array& mean, const Array& rstd, const Array& x, const Array& weight,
                const Array& bias, double eps);
// dx, and dweight and dbias (C,), which are left out if they have no storage.
void layer_norm_backward(const Array& dx, const Array& dweight, const Array& dbias, const Array& dy,
                         const Array& x, const Array& mean, const Array& rstd, const Array& weight);

// loss () = the mean of −ln softmax(x)[target] over the rows whose target is not ignore_index, 0 if there are
// none; returns their number. max and log_sum (R,), whose sum is ln Σ e^x, are saved for backward: as one
// number, the small one would be rounded away where logits are large. targets int64 (R,), each a class or
// ignore_index.
std::int64_t cross_entropy(const Array& loss, const Array& max, const Array& log_sum, const Array& x,
                           const Array& targets, std::int64_t ignore_index);
// dx = (softmax(x) − onehot(target)) · factor, with factor = dloss / counted; 0 in ignored rows.
void cross_entropy_backward(const Array& dx, const Array& x, const Array& max, const Array& log_sum,
                            const Array& targets, std::int64_t ignore_index, double factor);

}  // namespace weft::kernels
