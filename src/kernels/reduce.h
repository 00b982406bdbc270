// Reductions. The order of every sum depends on the shape alone.
#pragma once

#include <vector>

#include "tensor/array.h"

namespace weft::kernels {

constexpr std::int64_t reduce_grain = 8192;            // elements of one task
constexpr std::int64_t sum_strip = 64, sum_rows = 64;  // columns and rows of one block of a sum
// A longer sum is cut into parts of so many elements, or rows if it is over columns.
constexpr std::int64_t sum_part = 32768, rows_part = 512;

// A contiguous shape as (outer, n, inner), where n is the product of the axes first … last − 1.
struct Layout {
    std::int64_t outer = 1, n = 1, inner = 1;
    Layout(const Shape& shape, int first, int last) {
        for (int i = 0; i < shape.rank(); ++i) (i < first ? outer : i < last ? n : inner) *= shape.begin()[i];
    }
};

// Σ over the marked axes of x (floating or int64), which get size 1.
Array sum(const Array& x, const std::vector<bool>& reduced);

struct MinMax {
    Array values, indices;  // the axis has size 1; indices int64, of the first occurrence
};
MinMax min_max(const Array& x, int axis, bool largest);  // NaN comes first; the axis is not empty

}  // namespace weft::kernels
