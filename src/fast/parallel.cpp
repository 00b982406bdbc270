#include "fast/parallel.h"

#include <pthread.h>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "weft/core/modes.h"

namespace weft::kernels {
namespace {

thread_local bool in_task = false;
std::atomic<bool> is_forked{false};  // in a child of fork, which has no workers

// The threads of one user thread: itself and workers, which all arenas of the process share.
struct Team {
    int threads;
    tbb::task_arena arena;
};

// By default oneTBB has no more workers than processors. Of several limits it takes the lowest, so there is
// one, which all user threads share.
void allow(int threads) {
    static std::mutex mutex;
    static std::unique_ptr<tbb::global_control> limit;
    static const int processors = tbb::info::default_concurrency();
    static std::atomic<int> allowed = processors;
    threads = std::max(threads, processors);
    if (threads == allowed) return;
    const std::lock_guard lock(mutex);
    allowed = threads;
    limit.reset();
    limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                  static_cast<std::size_t>(threads));
}

#ifdef WEFT_SANITIZED
// clang 14's LeakSanitizer crashes now and then ("Tracer caught signal 11") where a thread ends while it looks
// through all of them. oneTBB's workers are told to end by the last destructors of a process, which do not
// wait; this waits, before that look.
struct Workers {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    ~Workers() {
        if (!is_forked) tbb::finalize(handle, std::nothrow);
    }
};
#endif

Team& team(int threads) {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
    static_cast<void>(registered);
#ifdef WEFT_SANITIZED
    static Workers workers;
#endif
    thread_local std::unique_ptr<Team> team;
    allow(threads);
    if (!team || team->threads != threads) team.reset(new Team{threads, tbb::task_arena(threads)});
    return *team;
}

}  // namespace

int cgroup_processors(const std::string& groups, const std::string& mounted) {
    std::filesystem::path group;  // below `mounted`; the line of version 2 is "0::/path"
    std::ifstream lines(groups);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("0::/")) group = std::filesystem::path(line.substr(3)).lexically_normal();
    double least = INFINITY;
    for (group = group.relative_path();; group = group.parent_path()) {
        std::ifstream file(mounted / group / "cpu.max");  // "TIME PERIOD", or "max PERIOD" without a limit
        std::int64_t time = 0, period = 0;
        if (file >> time >> period && time > 0 && period > 0)
            least = std::min(least, static_cast<double>(time) / static_cast<double>(period));
        if (group.empty()) break;
    }
    // Rounded up: on 1.5 processors two threads, though they pause in each period, do 1.5 times as much as one.
    return least == INFINITY ? 0 : static_cast<int>(std::ceil(std::min<double>(least, max_threads)));
}

namespace fast {

int default_threads() {
    for (const char* name : {"WEFT_NUM_THREADS", "OMP_NUM_THREADS"})
        if (const char* text = std::getenv(name))
            if (const long n = std::strtol(text, nullptr, 10); n >= 1)
                return static_cast<int>(std::min<long>(n, max_threads));
    const int processors = tbb::info::default_concurrency();  // those that the affinity mask allows
    const int limit = cgroup_processors("/proc/self/cgroup", "/sys/fs/cgroup");
    return std::min(limit > 0 ? std::min(processors, limit) : processors, max_threads);
}

void run_tasks(const Loop& loop) {
    if (const LoopObserver observer = loop_observer.load(std::memory_order_relaxed)) [[unlikely]]
        return observer(loop);
    const std::int64_t tasks = loop.tasks;
    const int threads = get_num_threads();
    if (threads <= 1 || tasks <= 1 || in_task || is_forked) {
        for (std::int64_t i = 0; i < tasks; ++i) loop.task(loop.context, i);
        return;
    }
    std::atomic<std::int64_t>* const counted = multiply_adds;
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // a task's exception; none passes through oneTBB, whose C++ library may differ
    team(threads).arena.execute([&] {
        tbb::parallel_for(
            tbb::blocked_range<std::int64_t>(0, tasks, 1),
            [&](const tbb::blocked_range<std::int64_t>& range) {
                struct Here {  // the thread's state while it runs the task
                    std::atomic<std::int64_t>* const before;
                    explicit Here(std::atomic<std::int64_t>* now) : before(std::exchange(multiply_adds, now)) {
                        in_task = true;
                    }
                    ~Here() {
                        multiply_adds = before;
                        in_task = false;
                    }
                } here(counted);
                try {
                    for (std::int64_t i = range.begin(); i < range.end() && !failed; ++i)
                        loop.task(loop.context, i);
                } catch (...) {
                    if (!failed.exchange(true)) error = std::current_exception();
                }
            },
            tbb::simple_partitioner());
    });
    if (error) std::rethrow_exception(error);
}

}  // namespace fast
}  // namespace weft::kernels
