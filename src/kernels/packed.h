// Weights in fewer bits than they are computed in.
#pragma once

#include "kernels/interface.h"

namespace weft::kernels {

// W (n, k), the weight of a layer or a table, as the kernels read it: a contiguous matrix of bfloat16, float16
// or blocks.
struct CompactMatrix {
    DType dtype;
    const std::byte* data;
    std::int64_t n, k, row_bytes;
};
// DTypeError where a row begins or ends within a block.
CompactMatrix compact(const Array& w);

// out (R, k), float32, = the rows of W at indices (R,), int64 and within 0 … n − 1; out is contiguous.
extern const Slot<void(const Array& out, const CompactMatrix& w, const Array& indices)> widen_rows;

// Whether blocks are written, and not only read. Then a matrix of float32 whose rows divide into them can
// become blocks, unless one has a NaN, an infinity or a scale that float16 does not hold: the first element of
// the first such block, or −1.
bool is_written(DType format);
std::int64_t first_unpackable(const Array& w, DType format);
Array pack(const Array& w, DType format);

// f(Format{}) for the one of these structs, the first of DType's blocks in their order, that belongs to
// `format`; nothing for one beyond them.
template <class... Formats, class Function>
void visit_block(DType format, const Function& f) {
    int i = static_cast<int>(DType::Q8_0);
    (void)((static_cast<int>(format) == i++ && (f(Formats{}), true)) || ...);
}

}  // namespace weft::kernels
