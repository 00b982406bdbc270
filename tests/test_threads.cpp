// Threads: as many as asked for take part, BLAS adds none of its own, and what a thread does stays in it.
#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "catch.h"
#include "core/kernels/parallel.h"
#include "weft/weft.h"

using namespace weft;

namespace {

struct Threads {  // puts the number back
    explicit Threads(int n) : before(get_num_threads()) { set_num_threads(n); }
    ~Threads() { set_num_threads(before); }
    const int before;
};

double seconds(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

TEST_CASE("as many threads take part as were asked for", "[threads]") {
    for (const int n : {1, 2, 3, 4, 7, 16, 64}) {
        const Threads threads(n);
        std::mutex mutex;
        std::condition_variable arrived;
        std::set<std::thread::id> seen;
        kernels::parallel_blocks(n, 1, [&](std::int64_t, std::int64_t) {
            std::unique_lock lock(mutex);
            seen.insert(std::this_thread::get_id());
            arrived.notify_all();
            // Whoever waits here leaves the other tasks to others.
            arrived.wait_for(lock, std::chrono::seconds(60),
                             [&] { return seen.size() == static_cast<std::size_t>(n); });
        });
        CHECK(seen.size() == static_cast<std::size_t>(n));
    }
}

TEST_CASE("tasks within a task run on its thread, one after the other", "[threads]") {
    const Threads threads(4);
    kernels::parallel_blocks(8, 1, [&](std::int64_t, std::int64_t) {
        const auto outer = std::this_thread::get_id();
        std::int64_t next = 0;
        kernels::parallel_blocks(5, 1, [&](std::int64_t begin, std::int64_t) {
            if (std::this_thread::get_id() != outer || begin != next++) throw Error("another thread or order");
        });
    });
    SUCCEED();
}

TEST_CASE("example of parallel_for", "[header-examples][threads]") {
    const std::int64_t n = 10'001;
    const std::vector<double> x(n, 3);
    std::vector<double> y(n);

    parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = 2 * x[i];
    });

    CHECK(y == std::vector<double>(n, 6));
    const auto nothing = [](std::int64_t, std::int64_t) {};
    CHECK(contains(message_of<ValueError>([&] { parallel_for(-1, 1, nothing); }),
                   "parallel_for: n -1 and grain 1; use at least 0 and 1"));
    CHECK(contains(message_of<ValueError>([&] { parallel_for(1, 0, nothing); }), "grain 0"));
}

TEST_CASE("an error of a task is thrown where the tasks were started", "[threads]") {
    const Threads threads(3);
    for (const std::int64_t wrong : {0, 57, 99})
        CHECK(contains(message_of<ValueError>([&] {
                           kernels::parallel_blocks(100, 1, [&](std::int64_t i, std::int64_t) {
                               if (i == wrong) throw ValueError("task ", i);
                           });
                       }),
                       "task " + std::to_string(wrong)));
    int after = 0;  // and the threads go on
    std::mutex mutex;
    kernels::parallel_blocks(100, 1, [&](std::int64_t, std::int64_t) {
        const std::lock_guard lock(mutex);
        ++after;
    });
    CHECK(after == 100);
}

TEST_CASE("a product on one thread takes no time of another", "[threads]") {
    const Threads one(1);
    const Tensor x = ones({600, 600});
    (void)matmul(x, x);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // workers of other tests go to sleep
    const double process = seconds(CLOCK_PROCESS_CPUTIME_ID), thread = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 20; ++i) (void)matmul(x, x);
    const double own = seconds(CLOCK_THREAD_CPUTIME_ID) - thread;
    const double others = seconds(CLOCK_PROCESS_CPUTIME_ID) - process - own;
    INFO("this thread " << own << " s, others " << others << " s");
    CHECK(others < 0.1 * own);
}

TEST_CASE("threads that wait sleep", "[threads]") {
    const Threads two(2);
    const Tensor x = ones({600, 600});
    (void)matmul(x, x);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // workers go to sleep
    const double process = seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(seconds(CLOCK_PROCESS_CPUTIME_ID) - process < 0.1);
}
