// OpenBLAS, through xtensor-blas.
#include <omp.h>

#include <xtensor-blas/xblas.hpp>

#include "core/kernels/blas/blas.h"

extern "C" void openblas_set_num_threads(int);

namespace weft::kernels {
namespace {

// OpenBLAS with its own threads has one number of threads per process. OpenBLAS with OpenMP uses that of the
// calling thread, which is restored because it belongs to the caller.
struct OneThread {
    const int before = omp_get_max_threads();
    OneThread() { omp_set_num_threads(1); }
    ~OneThread() { omp_set_num_threads(before); }
};
const bool blas_is_single_threaded = [] {
    const OneThread restored;
    openblas_set_num_threads(1);
    return true;
}();

}  // namespace

template <class T>
void blas_gemm(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T* a, int lda,
               const T* b, int ldb, T beta, T* c, int ldc) {
    const OneThread while_blas_runs;
    cxxblas::gemm<int>(cxxblas::RowMajor, a_transposed ? cxxblas::Trans : cxxblas::NoTrans,
                       b_transposed ? cxxblas::Trans : cxxblas::NoTrans, m, n, k, alpha, a, lda, b, ldb, beta,
                       c, ldc);
}
template void blas_gemm(bool, bool, int, int, int, float, const float*, int, const float*, int, float, float*,
                        int);
template void blas_gemm(bool, bool, int, int, int, double, const double*, int, const double*, int, double,
                        double*, int);

}  // namespace weft::kernels
