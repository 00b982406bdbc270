// Weft's threads, by oneTBB: this thread and workers that all threads share. Within a task, and in a child of
// fork, tasks run one after the other.
#pragma once

#include <atomic>
#include <string>

#include "core/kernels.h"

namespace weft::kernels {

// Gets all loops and runs their tasks in place of run_tasks, or null: weft_bench --span measures them.
using LoopObserver = void (*)(const Loop& loop);
inline constinit std::atomic<LoopObserver> loop_observer = nullptr;

// How many processors' time cgroup v2 lets this process use, rounded up; 0 without a limit. It is the smallest
// limit (cpu.max) of the process's group and those above it. `groups` is /proc/self/cgroup, and `mounted` the
// folder that its paths begin at.
int cgroup_processors(const std::string& groups, const std::string& mounted);

}  // namespace weft::kernels
