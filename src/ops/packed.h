// Weights in half and in blocks, for the operations that also read tensors of float32.
#pragma once

#include <memory>
#include <optional>

#include "kernels/packed.h"
#include "weft/autograd/tensor.h"

namespace weft {

// A weight in fewer bits, with what holds its memory.
struct CompactWeight {
    kernels::CompactMatrix matrix;
    std::shared_ptr<const void> memory;
};
// That of a matrix of half size or in blocks; nothing for any other tensor.
std::optional<CompactWeight> compact(const Tensor& weight);

// x (rows, k) Wᵀ + b in `shape`; the sizes fit, and w is compact(weight).
Tensor compact_linear(const Tensor& x, const Tensor& weight, const CompactWeight& w, const Tensor& bias,
                      const Shape& shape, std::int64_t rows);
// Its rows at ids (R,), which are in range and contiguous, as float32 (R, k).
Tensor rows_at(const CompactWeight& weight, const Tensor& ids);

}  // namespace weft
