#include "core/parallel.h"

#include "core/kernels.h"
#include "weft/core/error.h"
#include "weft/core/threads.h"

namespace weft {

namespace {
std::atomic<int> chosen_threads{0};  // 0: the default
}  // namespace

void set_num_threads(int n) {
    if (n < 1 || n > kernels::max_threads)
        throw ValueError("set_num_threads: ", n, " threads; use 1 to ", kernels::max_threads);
    chosen_threads = n;
}

int get_num_threads() {
    static const int by_default = kernels::installed.default_threads ? kernels::installed.default_threads() : 1;
    return chosen_threads > 0 ? chosen_threads.load() : by_default;
}

void parallel_for(std::int64_t n, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& f) {
    if (n < 0 || grain < 1)
        throw ValueError("parallel_for: n ", n, " and grain ", grain, "; use at least 0 and 1");
    kernels::parallel_blocks(n, grain, f);
}

namespace kernels {

constinit decltype(kernels::run_tasks) run_tasks{[](const Loop& loop) {
                                                     for (std::int64_t i = 0; i < loop.tasks; ++i)
                                                         loop.task(loop.context, i);
                                                 },
                                                 installed.run_tasks};

}  // namespace kernels
}  // namespace weft
