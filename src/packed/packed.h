// Weights in fewer bits than they are computed in.
#pragma once

#include "core/kernels.h"

namespace weft::kernels {

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
