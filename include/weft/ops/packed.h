// Linear layers and embeddings whose weight is in fewer bits than it is computed in.
#pragma once

#include "weft/autograd/tensor.h"
#include "weft/tensor/packed_matrix.h"

namespace weft {

// The blocks of a weight w (n, k), rounded as ggml's quantize_row_q8_0_ref, _q4_0_ref and _q4_1_ref do
// (https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c); float64 is rounded to float32 first. The
// other formats are read only (ValueError). ShapeError unless w is a matrix whose rows divide into blocks;
// ValueError, with its position, for a block with a NaN, an infinity or a scale beyond float16's 65504.
//
//     const PackedMatrix blocks = pack(w, BlockFormat::Q8_0);  // w (n, k), 34 bytes for each 32 weights
PackedMatrix pack(const Tensor& w, BlockFormat format);

// The weights of the blocks, exactly, as float32 (n, k).
//
//     const Tensor rounded = dequantize(pack(w, BlockFormat::Q4_0));  // w with 4.5 bits an element
Tensor dequantize(const PackedMatrix& w);

// x Wᵀ + b: x (…, k) float32, W (n, k), bias (n,) float32 or undefined → (…, n). Differentiable in x and the
// bias: dx = dy W. One row of x, or four, meet W in registers; more of them share tiles of widened weights,
// whose sums are added in another order. `linear` of a tensor that holds blocks, or is bfloat16 or float16, is
// this, too. ShapeError if the sizes do not fit; DTypeError unless x is float32.
//
//     const Tensor y = linear(x, pack(w, BlockFormat::Q4_1));  // (T, k) → (T, n)
Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias = {});

// The rows of a table (n, k) at ids int64 (…), as float32 (…, k). IndexError for an id outside 0 … n − 1.
//
//     const Tensor rows = embedding(pack(w, BlockFormat::Q8_0), ids);  // (T,) → (T, k)
Tensor embedding(const PackedMatrix& table, const Tensor& ids);

}  // namespace weft
