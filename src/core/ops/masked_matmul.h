// Products over pairs of queries and keys of which some do not see each other, the readable way: what is not
// finite stays where it is seen.
#pragma once

#include "core/kernels/masked_gemm.h"
#include "core/ops/common.h"

namespace weft {

using kernels::Pairs;

// y (B, H, m, n) = a (B, H, m, k) @ b (B, H, k, n), where `pairs` of the three holds one number for each pair.
// `blocked` (bool, of its shape or broadcast to it; undefined: nothing is) says which pairs do not see each
// other: these add nothing to y, not even NaN, and what y itself holds for them is read by nobody. Gradients to
// any order are such products.
Tensor masked_matmul(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs);

}  // namespace weft
