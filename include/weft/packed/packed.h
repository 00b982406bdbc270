// Weights in blocks.
#pragma once

#include <cstddef>
#include <span>

#include "weft/core/tensor.h"

namespace weft {

// The name of a tensor in blocks until version 0.4.
using PackedMatrix = Tensor;

// The blocks of a weight w (n, k), rounded as ggml's quantize_row_q8_0_ref, _q4_0_ref and _q4_1_ref do
// (https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c); float64 is rounded to float32 first. The
// other formats are read only (ValueError). ShapeError unless w is a matrix whose rows divide into blocks;
// ValueError, with its position, for a block with a NaN, an infinity or a scale beyond float16's 65504. The
// blocks never change, so that a clone() shares them.
//
//     const Tensor blocks = pack(w, DType::Q8_0);  // w (n, k), 34 bytes for each 32 weights
Tensor pack(const Tensor& w, BlockFormat format);

// The weights of the blocks, exactly, as float32 (n, k): w.to(float32).
//
//     const Tensor rounded = dequantize(pack(w, DType::Q4_0));  // w with 4.5 bits an element
Tensor dequantize(const Tensor& w);

// The blocks of w, row by row. DTypeError where a row of w, which may be a slice, begins or ends within one.
//
//     const std::size_t bytes = bytes_of(pack(w, DType::Q4_0)).size();  // 18 for each 32 weights
std::span<const std::byte> bytes_of(const Tensor& w);

}  // namespace weft
