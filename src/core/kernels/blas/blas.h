// The matrix product of a BLAS. Each has a file of its own here, of which a build takes one:
// -DWEFT_BLAS=openblas.
#pragma once

namespace weft::kernels {

// c (m, n) = alpha · a b + beta · c for float and double, where a is (m, k), or (k, m) if `a_transposed`, and
// likewise b (k, n): stored by rows that start lda, ldb and ldc elements apart. m, n and k are positive. beta =
// 0 overwrites whatever c held. Runs on the calling thread alone, because the team is Weft's own
// (docs/architecture.md).
template <class T>
void blas_gemm(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T* a, int lda,
               const T* b, int ldb, T beta, T* c, int ldc);

}  // namespace weft::kernels
