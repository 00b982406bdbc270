// What both kinds of multi-head attention refuse. H heads of queries, G of keys and values.
#pragma once

#include <optional>

#include "weft/core/tensor.h"

namespace weft::nn {

// ShapeError, naming `module` and what x is, unless x is (B, T, width) or (T, width).
void check_tokens(const Tensor& x, std::int64_t width, const char* module, const char* what);

// G: kv_heads, or heads where it is 0. ValueError, naming `module`, unless it is at least 1 and divides heads.
std::int64_t key_heads(std::int64_t heads, std::int64_t kv_heads, const char* module);

// The base itself. ValueError, naming `module`, where it is given but cannot turn pairs of d_k columns.
std::optional<double> checked_rotary(std::optional<double> base, std::int64_t d_k, const char* module);

}  // namespace weft::nn
