// Kernels that read and write by index. Indices are int64, contiguous, and already within 0 … size − 1.
#pragma once

#include "core/array/array.h"

namespace weft::kernels {

constexpr std::int64_t index_bytes = 131072;  // of one task of index_select
constexpr std::int64_t index_strip = 256;     // columns of one task of index_add

// x (outer, V, inner), indices (n,) → out (outer, n, inner), all contiguous.
void index_select(const Array& out, const Array& x, int axis, const Array& indices);
// out (outer, V, inner) += source (outer, n, inner) at the indices, in their order.
void index_add(const Array& out, int axis, const Array& indices, const Array& source);

// out like index: out_{i…} = x at index_{i…} along axis; x and index of one rank. All contiguous.
void gather(const Array& out, const Array& x, int axis, const Array& index);
// out at index_{i…} along axis += source_{i…}; source like index.
void scatter_add(const Array& out, int axis, const Array& index, const Array& source);

// The first position whose value is outside low … high − 1, or −1.
std::int64_t first_outside(const Array& indices, std::int64_t low, std::int64_t high);

}  // namespace weft::kernels
