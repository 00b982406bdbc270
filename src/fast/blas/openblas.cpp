// OpenBLAS, through xtensor-blas.
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>
#include <xtensor-blas/xblas.hpp>

#include "fast/blas/blas.h"

extern "C" {
void openblas_set_num_threads(int);
int openblas_get_parallel();  // 0: built without threads, 1: with its own, 2: with OpenMP's
// Take one of its buffers and give it back. No header of OpenBLAS declares them, so a build may lack them.
[[gnu::weak]] void* blas_memory_alloc(int);
[[gnu::weak]] void blas_memory_free(void*);
}

namespace weft::kernels::fast {
namespace {

// The number of threads belongs to the process where OpenBLAS has threads of its own, and to the calling thread
// where it uses OpenMP, which is then in the process, too.
const OpenMP openmp(RTLD_DEFAULT);
const bool blas_is_ready = [] {
    choose_openblas_kernels();
    const OneThread restored(openmp);
    openblas_set_num_threads(1);
    return true;
}();

// OpenBLAS built without threads (Debian's libopenblas0-serial) hands out its buffers without a lock, so two
// threads that multiply at the same time overwrite each other's operands. It gets one product at a time.
std::mutex mutex;
const bool one_at_a_time = openblas_get_parallel() == 0;
[[maybe_unused]] const int fork_handler =
    pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });

// Whether the system limits the process's memory, as under ulimit -v.
bool is_limited() {
    rlimit space{}, data{};
    ::getrlimit(RLIMIT_AS, &space);
    ::getrlimit(RLIMIT_DATA, &data);
    return space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}

// OpenBLAS copies operands into a buffer of 128 MiB, most of which is never touched. It keeps one for each
// product that runs at the same time, and if the system refuses one, it tries again for ever. So before more
// products run than ever before, it gets the buffers for them, and only if there is room.
std::atomic<int> running = 0, buffers = 0;

constexpr std::size_t buffer_size = 129 << 20;

void make_buffers(int count) {
    using Buffer = std::unique_ptr<void, void (*)(void*)>;
    static std::set<const void*> known;
    std::vector<Buffer> held;
    while (std::ssize(known) < count) {
        check_room(buffer_size);
        if (is_limited()) {  // one of OpenBLAS's own threads may have waited for this room, and takes it now
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            check_room(buffer_size);
        }
        if (blas_memory_alloc == nullptr) break;
        held.emplace_back(blas_memory_alloc(0), blas_memory_free);
        known.insert(held.back().get());
    }
    buffers = count;
}

// While a product runs.
struct Running {
    Running() {
        const int count = std::min(++running, one_at_a_time ? 1 : INT_MAX);
        if (count <= buffers) return;
        try {
            const std::lock_guard lock(mutex);
            if (count > buffers) make_buffers(count);
        } catch (...) {
            --running;
            throw;
        }
    }
    ~Running() { --running; }
};

}  // namespace

template <class T>
void blas_gemm(bool a_transposed, bool b_transposed, int m, int n, int k, T alpha, const T* a, int lda,
               const T* b, int ldb, T beta, T* c, int ldc) {
    const OneThread while_blas_runs(openmp);
    const Running counted;
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

}  // namespace weft::kernels::fast
