// One OpenMP team of ours. Work is cut into tasks whose number and borders depend on the sizes alone, never on
// the number of threads, and no two tasks write the same output: so the bits do not depend on the number of
// threads either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace weft::kernels {

using Task = void (*)(const void* context, std::int64_t index);
void run_tasks(std::int64_t tasks, Task task, const void* context);

// Runs f(0) … f(tasks − 1), in any order and on any thread of the team; rethrows the first exception.
template <class F>
void parallel_for(std::int64_t tasks, const F& f) {
    run_tasks(
        tasks, [](const void* context, std::int64_t index) { (*static_cast<const F*>(context))(index); }, &f);
}

// Runs f(begin, end) over 0 … n in blocks of `grain` items.
template <class F>
void parallel_blocks(std::int64_t n, std::int64_t grain, const F& f) {
    grain = std::max<std::int64_t>(grain, 1);
    parallel_for((n + grain - 1) / grain,
                 [&](std::int64_t block) { f(block * grain, std::min(n, (block + 1) * grain)); });
}

}  // namespace weft::kernels
