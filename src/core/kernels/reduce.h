// Reductions. Every sum is made in an order that depends on the shape alone.
#pragma once

#include <vector>

#include "core/array/array.h"

namespace weft::kernels {

constexpr std::int64_t reduce_grain = 32768;           // elements of one task
constexpr std::int64_t sum_strip = 64, sum_rows = 64;  // columns and rows of one block of a sum

// Σ over the marked axes of x (floating or int64; bool counts as int64 by the caller's conversion). The result
// has those axes with size 1.
Array sum(const Array& x, const std::vector<bool>& reduced);

struct MinMax {
    Array values, indices;  // the axis has size 1; indices int64, of the first occurrence
};
MinMax min_max(const Array& x, int axis, bool largest);  // NaN counts as the extreme; the axis is not empty

void cumsum(const Array& out, const Array& x, int axis, bool reverse);  // out contiguous

}  // namespace weft::kernels
