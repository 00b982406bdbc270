// Kernels that read and write by index. Indices are int64, contiguous, and within 0 … size − 1.
#pragma once

#include "tensor/array.h"

namespace weft::kernels {

constexpr std::int64_t index_bytes = 131072;  // bytes of one task of index_select
constexpr std::int64_t index_strip = 64;      // columns of one task of index_add
constexpr std::int64_t index_grain = 8192;    // elements of one task of the others

// x (outer, V, inner), indices (n,) → out (outer, n, inner); all contiguous.
void index_select(const Array& out, const Array& x, int axis, const Array& indices);
// out (outer, V, inner) += source (outer, n, inner) at the indices, in the order of the indices.
void index_add(const Array& out, int axis, const Array& indices, const Array& source);

// out_{i…} = x at index_{i…} along the axis. out is like index, x has its rank; all contiguous.
void gather(const Array& out, const Array& x, int axis, const Array& index);
// out at index_{i…} along the axis += source_{i…}; source is like index.
void scatter_add(const Array& out, int axis, const Array& index, const Array& source);

// The first position whose value is outside low … high − 1; −1 if there is none.
std::int64_t first_outside(const Array& indices, std::int64_t low, std::int64_t high);

}  // namespace weft::kernels
