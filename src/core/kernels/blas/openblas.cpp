// OpenBLAS, through xtensor-blas.
#include <dlfcn.h>
#include <pthread.h>

#include <mutex>
#include <xtensor-blas/xblas.hpp>

#include "core/kernels/blas/blas.h"

extern "C" {
void openblas_set_num_threads(int);
int openblas_get_parallel();  // 0: built without threads, 1: with its own, 2: with OpenMP's
}

namespace weft::kernels {
namespace {

// The number of threads belongs to the process where OpenBLAS has threads of its own, and to the calling thread
// where it uses OpenMP, which is then in the process, too. The caller's is restored.
struct OneThread {
    using Get = int (*)();
    using Set = void (*)(int);
    static inline const Get get = reinterpret_cast<Get>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    static inline const Set set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    const int before = set != nullptr ? get() : 1;
    OneThread() {
        if (before != 1) set(1);
    }
    ~OneThread() {
        if (before != 1) set(before);
    }
};
const bool blas_is_single_threaded = [] {
    const OneThread restored;
    openblas_set_num_threads(1);
    return true;
}();

// OpenBLAS built without threads (Debian's libopenblas0-serial) hands out its buffers without a lock, so two
// threads that multiply at the same time overwrite each other's operands. It gets one product at a time.
std::mutex mutex;
const bool one_at_a_time = openblas_get_parallel() == 0;
[[maybe_unused]] const int fork_handler =
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });

}  // namespace

template <class T>
void blas_gemm(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T* a, int lda,
               const T* b, int ldb, T beta, T* c, int ldc) {
    const OneThread while_blas_runs;
    std::unique_lock lock(mutex, std::defer_lock);
    if (one_at_a_time) lock.lock();
    cxxblas::gemm<int>(cxxblas::RowMajor, a_transposed ? cxxblas::Trans : cxxblas::NoTrans,
                       b_transposed ? cxxblas::Trans : cxxblas::NoTrans, m, n, k, alpha, a, lda, b, ldb, beta,
                       c, ldc);
}
template void blas_gemm(bool, bool, int, int, int, float, const float*, int, const float*, int, float, float*,
                        int);
template void blas_gemm(bool, bool, int, int, int, double, const double*, int, const double*, int, double,
                        double*, int);

}  // namespace weft::kernels
