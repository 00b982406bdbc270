// Products of matrices and vectors.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

// The matrix product (…, m, k) @ (…, k, n) → (…, m, n); the leading axes broadcast. A vector (k,) is a row on
// the left and a column on the right, and its axis is dropped from the result. k = 0 gives zeros. ShapeError
// if the inner dimensions differ; DTypeError unless both are of the same floating type.
//
//     const Tensor scores = matmul(q, k.transpose(-2, -1));  // (B, T, d) @ (B, d, S) → (B, T, S)
Tensor matmul(const Tensor& a, const Tensor& b);

// x Wᵀ + b: x (…, in), weight (out, in), bias (out,) or undefined → (…, out). ShapeError if they do not fit.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor outer(const Tensor& a, const Tensor& b);  // (m,), (n,) → (m, n): a_i · b_j
Tensor dot(const Tensor& a, const Tensor& b);    // (n,), (n,) → (): Σ a_i · b_i

}  // namespace weft
