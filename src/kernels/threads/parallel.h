// Weft's threads, by oneTBB. Work is cut into tasks whose number and borders depend on sizes alone, and no two
// tasks write the same output, so the number of threads does not change the bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <typeinfo>

namespace weft::kernels {

// task(context, 0) … task(context, tasks − 1), and the type of the function that the loop was called with.
struct Loop {
    std::int64_t tasks;
    void (*task)(const void* context, std::int64_t index);
    const void* context;
    const std::type_info& body;
};

// Runs a loop's tasks in any order, on this thread and workers that all threads share; rethrows the first
// exception. Within a task, and in a child of fork, one after the other on this thread.
void run_tasks(const Loop& loop);

// Gets the loops of this thread and runs their tasks in place of run_tasks, or null: weft_bench --span measures
// them.
using LoopObserver = void (*)(const Loop& loop);
inline constinit thread_local LoopObserver loop_observer = nullptr;

// How many processors' time cgroup v2 lets this process use, rounded up; 0 without a limit. It is the smallest
// limit (cpu.max) of the process's group and those above it. `groups` is /proc/self/cgroup, and `mounted` the
// folder that its paths begin at.
int cgroup_processors(const std::string& groups, const std::string& mounted);

// Where this thread's products add their multiply-adds, and behind it those of operands in bfloat16
// (CountMultiplyAdds, weft/autograd/trace.h); or null. Tasks have that of the thread which runs them.
inline constinit thread_local std::atomic<std::int64_t>* multiply_adds = nullptr;
inline void count_multiply_adds(std::int64_t n, bool in_bfloat16 = false) {
    if (multiply_adds == nullptr) [[likely]]
        return;
    multiply_adds[0].fetch_add(n, std::memory_order_relaxed);
    if (in_bfloat16) multiply_adds[1].fetch_add(n, std::memory_order_relaxed);
}

// Runs f(begin, end) over 0 … n in blocks of `grain` items. Loop::body is Body.
template <class Body, class F>
void run_blocks(std::int64_t n, std::int64_t grain, const F& f) {
    grain = std::max<std::int64_t>(grain, 1);
    const auto run = [&](std::int64_t block) { f(block * grain, std::min(n, (block + 1) * grain)); };
    const auto task = [](const void* run_block, std::int64_t block) {
        (*static_cast<decltype(run)*>(run_block))(block);
    };
    run_tasks({(n + grain - 1) / grain, task, &run, typeid(Body)});
}

template <class F>
void parallel_blocks(std::int64_t n, std::int64_t grain, const F& f) {
    run_blocks<F>(n, grain, f);
}

// How many items of `size` elements make a task of about `grain` elements.
constexpr std::int64_t items_of_a_task(std::int64_t size, std::int64_t grain) {
    return grain / std::max<std::int64_t>(size, 1) + 1;
}

// Runs f(0) … f(n − 1), each of which processes `size` elements; a task has about `grain` elements.
template <class F>
void parallel_for(std::int64_t n, std::int64_t size, std::int64_t grain, const F& f) {
    run_blocks<F>(n, items_of_a_task(size, grain), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(i);
    });
}

}  // namespace weft::kernels
