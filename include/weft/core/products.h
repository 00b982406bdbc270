// Products of matrices and vectors.
#pragma once

#include <utility>
#include <vector>

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
Tensor outer(const Tensor& a, const Tensor& b);  // (m,), (n,) → (m, n): a_i · b_j
Tensor dot(const Tensor& a, const Tensor& b);    // (n,), (n,) → (): Σ a_i · b_i
// Σ over the last `axes` of a and the first of b, or over pairs of axes: the other axes of a, then of b.
// ShapeError if their sizes differ. Errors as matmul.
//
//     const Tensor a = ones({2, 3, 4}), b = ones({4, 3, 5});
//     const Tensor y = tensordot(a, b, {{1, 2}, {1, 0}});  // (2, 5), each 12
Tensor tensordot(const Tensor& a, const Tensor& b, int axes = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const std::pair<std::vector<int>, std::vector<int>>& axes);

}  // namespace weft
