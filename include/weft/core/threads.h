// Threads: results have the same bits at every number of threads.
#pragma once

#include <cstdint>
#include <functional>

namespace weft {

// The number of threads from now on. ValueError unless 1 ≤ n ≤ 1024.
//
//     set_num_threads(1);
//     const int threads = get_num_threads();  // 1
void set_num_threads(int n);
// The current number. By default WEFT_NUM_THREADS, else OMP_NUM_THREADS, else the processors on which the
// process may run, and no more than its container's quota (cgroup v2, cpu.max), rounded up.
int get_num_threads();
// Calls f(begin, end) for the blocks of `grain` elements of 0 … n − 1, the last one shorter, on all threads; as
// at::parallel_for. The blocks depend on n and grain alone, so a result that is put together block by block has
// the same bits at every number of threads. Rethrows the first exception; ValueError unless n ≥ 0 and grain
// ≥ 1.
//
//     parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
//         for (std::int64_t i = begin; i < end; ++i) y[i] = 2 * x[i];
//     });
void parallel_for(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& f);

}  // namespace weft
