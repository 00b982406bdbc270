// The matrix product of a BLAS. Each BLAS has its own file here, and a build uses one of them:
// -DWEFT_BLAS=openblas.
#pragma once

namespace weft::kernels::fast {

// c (m, n) = alpha · a b + beta · c for float and double. a is stored as (m, k), or as (k, m) if
// `a_transposed`, and b as (k, n) or (n, k); rows start lda, ldb and ldc elements apart. m, n and k are
// positive. beta = 0 overwrites c, whatever it held. Runs on the calling thread alone, because Weft has its own
// team (docs/architecture.md).
template <class T>
void blas_gemm(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T* a, int lda,
               const T* b, int ldb, T beta, T* c, int ldc);

}  // namespace weft::kernels::fast
