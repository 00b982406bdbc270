// Choices by the format of blocks.
#pragma once

#include "weft/tensor/packed_matrix.h"

namespace weft::kernels {

// f(Format{}) for the one of these structs, the first of BlockFormat's in their order, that belongs to
// `format`; nothing for a format beyond them.
template <class... Formats, class Function>
void visit_block(BlockFormat format, const Function& f) {
    int i = 0;
    (void)((static_cast<int>(format) == i++ && (f(Formats{}), true)) || ...);
}

}  // namespace weft::kernels
