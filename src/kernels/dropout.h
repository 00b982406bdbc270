// Dropout: element e of a tensor is kept if word e mod 4 of philox(seed, first + ⌊e / 4⌋) is at least p · 2³².
// So nothing needs to be stored: whoever knows an element's number knows whether it was kept.
#pragma once

#include <cstdint>

#include "tensor/array.h"

namespace weft::kernels {

struct Dropout {
    double p = 0;  // 0 ≤ p < 1
    std::uint64_t seed = 0, first = 0;
};

// How many positions of the generator n elements take.
constexpr std::uint64_t dropout_positions(std::int64_t n) { return (static_cast<std::uint64_t>(n) + 3) / 4; }

// factors_i = 1 / (1 − p) if element e + i is kept, else 0.
template <class T>
void dropout_factors(const Dropout& dropout, std::int64_t e, std::int64_t n, T* factors);

// The factors of a contiguous array.
void fill_dropout(const Array& out, const Dropout& dropout);

}  // namespace weft::kernels
