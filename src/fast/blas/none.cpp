// The product in plain C++, for machines without a BLAS. It is slow.
#include <cstddef>

#include "fast/blas/blas.h"

namespace weft::kernels::fast {

template <class T>
void blas_gemm(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T* a, int lda,
               const T* b, int ldb, T beta, T* c, int ldc) {
    const auto at = [](const T* x, bool transposed, int stride, int row, int column) {
        return transposed ? x[std::ptrdiff_t{column} * stride + row] : x[std::ptrdiff_t{row} * stride + column];
    };
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            T sum = 0;
            for (int p = 0; p < k; ++p) sum += at(a, a_transposed, lda, i, p) * at(b, b_transposed, ldb, p, j);
            T& y = c[std::ptrdiff_t{i} * ldc + j];
            y = alpha * sum + (beta == 0 ? T(0) : beta * y);
        }
}
template void blas_gemm(bool, bool, int, int, int, float, const float*, int, const float*, int, float, float*,
                        int);
template void blas_gemm(bool, bool, int, int, int, double, const double*, int, const double*, int, double,
                        double*, int);

}  // namespace weft::kernels::fast
