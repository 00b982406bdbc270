// Weights in fewer bits than they are computed in.
#pragma once

#include <variant>

#include "kernels/interface.h"
#include "weft/tensor/packed_matrix.h"

namespace weft::kernels {

// W (n, k), the weight of a layer or a table, in fewer bits than it is computed in: a contiguous matrix of
// bfloat16 or float16, or blocks.
struct CompactMatrix {
    std::variant<DType, BlockFormat> format;
    const std::byte* data;
    std::int64_t n, k, row_bytes;
};

// out (R, k), float32, = the rows of W at indices (R,), int64 and within 0 … n − 1; out is contiguous.
extern const Slot<void(const Array& out, const CompactMatrix& w, const Array& indices)> widen_rows;

// What the kernels read of a matrix of bfloat16 or float16, which is contiguous, and of blocks.
CompactMatrix compact(const Array& half);
CompactMatrix compact(const PackedMatrix& blocks);

// Whether a format is written, and not only read. Then a matrix of float32 whose rows divide into its blocks
// can become blocks, unless one has a NaN, an infinity or a scale that float16 does not hold: the first element
// of the first such block, or −1.
bool is_written(BlockFormat format);
std::int64_t first_unpackable(const Array& w, BlockFormat format);
PackedMatrix pack(const Array& w, BlockFormat format);

// f(Format{}) for the one of these structs, the first of BlockFormat's in their order, that belongs to
// `format`; nothing for a format beyond them.
template <class... Formats, class Function>
void visit_block(BlockFormat format, const Function& f) {
    int i = 0;
    (void)((static_cast<int>(format) == i++ && (f(Formats{}), true)) || ...);
}

}  // namespace weft::kernels
