#include "core/kernels/parallel.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {
constexpr int max_threads = 1024;
std::atomic<int> chosen_threads{0};  // 0: OpenMP's default
}  // namespace

// Declared in weft/core/tensor.h, which belongs to a higher layer.
int get_num_threads();

void set_num_threads(int n) {
    if (n < 1 || n > max_threads) throw ValueError("set_num_threads: ", n, " threads; use 1 to ", max_threads);
    chosen_threads = n;
}

int get_num_threads() {
    return chosen_threads > 0 ? chosen_threads.load() : std::min(omp_get_max_threads(), max_threads);
}

namespace kernels {

void run_tasks(std::int64_t tasks, Task task, const void* context) {
    const int threads = static_cast<int>(std::min<std::int64_t>(get_num_threads(), tasks));
    if (threads <= 1 || omp_in_parallel()) {
        for (std::int64_t i = 0; i < tasks; ++i) task(context, i);
        return;
    }
    std::exception_ptr failure;
    std::mutex mutex;
    std::atomic<std::int64_t>* const counted = multiply_adds;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::int64_t i = 0; i < tasks; ++i) {
        std::atomic<std::int64_t>* const before = std::exchange(multiply_adds, counted);
        try {
            task(context, i);
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
        }
        multiply_adds = before;
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace kernels
}  // namespace weft
