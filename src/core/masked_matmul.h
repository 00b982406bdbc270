// Products in which some pairs (query, key) are masked, for the definition of attention: what is
// not finite reaches only the pairs that are not masked.
#pragma once

#include "core/common.h"
#include "core/kernels.h"

namespace weft {

using kernels::Pairs;

// y (B, H, m, n) = a (B, H, m, k) @ b (B, H, k, n), where `pairs` says which of the three has an element for
// each pair. `blocked` (bool, broadcasting to its shape; undefined if none is) marks the masked pairs, which
// add nothing to y, not even NaN; if y has the pairs, its masked elements are unspecified. Gradients of any
// order are such products.
Tensor masked_matmul(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs);

}  // namespace weft
