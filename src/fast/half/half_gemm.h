// The matrix product of operands in bfloat16, summed in float32. A build uses one of the files here:
// onednn.cpp, or none.cpp where oneDNN is not found or -DWEFT_ONEDNN=OFF.
#pragma once

#include "weft/core/half.h"

namespace weft::kernels::fast {

struct HalfProduct {
    int m, n, k;
    bool a_transposed, b_transposed;  // stored as (k, m), as (n, k)
    bool adds;                        // c + a b, else a b
    int lda, ldb, ldc;                // elements from row to row, as they are stored
    bool operator==(const HalfProduct&) const = default;
};

// Whether half_gemm has instructions for bfloat16 to use: those of this processor, and a library that knows
// them.
bool has_half_gemm();

// c = a b, or c + a b, on the calling thread; false where the library cannot, and c is as it was.
bool half_gemm(const HalfProduct& product, const BFloat16* a, const BFloat16* b, float* c);

}  // namespace weft::kernels::fast
