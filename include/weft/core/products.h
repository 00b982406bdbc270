// Products of matrices and vectors.
#pragma once

#include "weft/core/tensor.h"

namespace weft {

// The matrix product (…, m, k) @ (…, k, n) → (…, m, n); the leading axes broadcast. A vector (k,) is a row on
// the left and a column on the right, and its axis is dropped from the result. k = 0 gives zeros. ShapeError
// if the inner dimensions differ; DTypeError unless both are of the same floating type.
//
//     const Tensor scores = matmul(q, k.transpose(-2, -1));  // (B, T, d) @ (B, d, S) → (B, T, S)
Tensor matmul(const Tensor& a, const Tensor& b);

// x Wᵀ + b: x (…, in), weight (out, in), bias (out,) or undefined → (…, out). ShapeError if they do not fit.
// A weight may store, as bfloat16, float16 or blocks, beside x of float32 (DTypeError): it is widened, exactly,
// and takes no gradient. One row of x, or four, meet it in registers; more share tiles of widened weights,
// whose sums are added in another order.
//
//     const Tensor y = linear(x, pack(w, DType::Q4_1));  // (T, k) → (T, n)
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace weft
