// Work in tasks. Their number and borders depend on sizes alone, and no two tasks write the same output, so the
// number of threads does not change the bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <typeinfo>

#include "core/slot.h"

namespace weft::kernels {

// task(context, 0) … task(context, tasks − 1), and the type of the function that the loop was called with.
struct Loop {
    std::int64_t tasks;
    void (*task)(const void* context, std::int64_t index);
    const void* context;
    const std::type_info& body;
};

// Runs a loop's tasks: one after the other, or in any order on several threads, and then rethrows the first
// exception.
extern const Slot<void(const Loop& loop)> run_tasks;
constexpr int max_threads = 1024;

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
