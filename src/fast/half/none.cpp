// Without oneDNN: gemm widens both operands, and multiplies them in float32.
#include "fast/blas/blas.h"

namespace weft::kernels::fast {

bool has_half_gemm() { return false; }
bool half_gemm(const HalfProduct&, const BFloat16*, const BFloat16*, float*) { return false; }

}  // namespace weft::kernels::fast
