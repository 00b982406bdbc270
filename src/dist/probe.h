#pragma once

#include <cstdint>
#include <string>

#include "weft/core/tensor.h"

namespace weft::dist {

// A checksum of the words of a tensor, going on from `hash`.
std::uint64_t checksum(const Tensor& x, std::uint64_t hash = 0xcbf29ce484222325);

// How this process computes: the version of Weft, the compiler, and a checksum of one training step of a small
// model, which is another one where kernels round in another way.
std::string arithmetic();

}  // namespace weft::dist
