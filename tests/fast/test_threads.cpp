// Threads: as many as asked for take part, BLAS adds none of its own, and what a thread does stays in it.
#include <dlfcn.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "environment.h"
#include "fast/gemm.h"
#include "fast/parallel.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

double seconds(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

int threads_of_process() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (int n = 0; word == "Threads:" && status >> n) return n;
    return 0;
}

// What this thread asks of OpenMP, if OpenBLAS has brought it along.
struct OpenMPThreads {
    explicit OpenMPThreads(int n) : before(get != nullptr ? get() : n), asked(n) {
        if (set != nullptr) set(n);
    }
    ~OpenMPThreads() {
        if (set != nullptr) set(before);
    }
    bool are_set() const { return get == nullptr || get() == asked; }
    static inline const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
    static inline const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    const int before, asked;
};

// The parameters and the last loss of a small GPT after a few steps.
std::vector<double> trained(std::uint64_t seed) {
    Rng rng(seed);
    lm::GPT model({.vocab_size = 40, .block_size = 32, .num_layers = 2, .num_heads = 4, .d_model = 64}, rng);
    optim::AdamW optimizer(model, {.lr = 1e-2});
    const Tensor x = randint(0, 40, {8, 32}, rng), y = randint(0, 40, {8, 32}, rng);
    std::vector<double> values{
        training::minimise(optimizer, 10, [&] { return cross_entropy(model(x), y); }, {.print_every = 0})};
    for (const Tensor& p : model.parameters())
        for (const float value : p.to_vector<float>()) values.push_back(value);
    return values;
}

// How many threads take part in a region of n tasks. Whoever waits in one leaves the other tasks to others.
int taking_part(int n) {
    const Threads threads(n);
    std::mutex mutex;
    std::condition_variable arrived;
    std::set<std::thread::id> seen;
    kernels::parallel_blocks(n, 1, [&](std::int64_t, std::int64_t) {
        std::unique_lock lock(mutex);
        seen.insert(std::this_thread::get_id());
        arrived.notify_all();
        arrived.wait_for(lock, std::chrono::seconds(60),
                         [&] { return seen.size() == static_cast<std::size_t>(n); });
    });
    return static_cast<int>(seen.size());
}

}  // namespace

TEST_CASE("as many threads take part as were asked for", "[threads]") {
    for (const int n : {1, 2, 3, 4, 7, 16, 64}) CHECK(taking_part(n) == n);
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

TEST_CASE("parallel_for refuses negative numbers of elements and grains below 1", "[threads]") {
    const auto nothing = [](std::int64_t, std::int64_t) {};
    refuses<ValueError>("parallel_for: n -1 and grain 1; use at least 0 and 1",
                        [&] { parallel_for(-1, 1, nothing); });
    refuses<ValueError>("grain 0", [&] { parallel_for(1, 0, nothing); });
}

TEST_CASE("a grain as large as a number can be makes one task", "[threads]") {
    std::int64_t calls = 0, until = 0;
    parallel_for(5, INT64_MAX, [&](std::int64_t begin, std::int64_t end) { ++calls, until = end - begin; });
    CHECK((calls == 1 && until == 5));
}

TEST_CASE("an error of a task is thrown where the tasks were started", "[threads]") {
    const Threads threads(3);
    for (const std::int64_t wrong : {0, 57, 99})
        refuses<ValueError>("task " + std::to_string(wrong), [&] {
            kernels::parallel_blocks(100, 1, [&](std::int64_t i, std::int64_t) {
                if (i == wrong) throw ValueError("task ", i);
            });
        });
    int after = 0;  // and the threads go on
    std::mutex mutex;
    kernels::parallel_blocks(100, 1, [&](std::int64_t, std::int64_t) {
        const std::lock_guard lock(mutex);
        ++after;
    });
    CHECK(after == 100);
}

TEST_CASE("a product on one thread takes no time of another", "[threads]") {
    const Float32MatmulPrecision precision(GENERATE("highest", "medium"));
    const Threads one(1);
    const OpenMPThreads asked(4);
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

TEST_CASE("products on several threads at the same time have the bits that each has alone", "[threads]") {
    // Small ones, of which thousands meet; each thread multiplies numbers of its own.
    constexpr std::int64_t n = 8, k = 48;
    std::atomic<int> different = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
        threads.emplace_back([seed, &different] {
            Rng rng(seed);
            const auto a = randn({n, k}, rng).to_vector<float>(), b = randn({k, n}, rng).to_vector<float>();
            std::vector<float> first, c(n * n);
            for (int i = 0; i < 50000; ++i) {
                kernels::fast::gemm<float, float>(n, n, k, 1, {a.data(), k, 1}, {b.data(), n, 1}, 0,
                                                  {c.data(), n, 1});
                if (i == 0) first = c;
                if (std::memcmp(c.data(), first.data(), c.size() * sizeof(float)) != 0) ++different;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(different == 0);
}

// Property P10.
TEST_CASE("BLAS and oneDNN run on the task's thread alone, and the number of OpenMP's threads stays",
          "[threads]") {
    const std::string precision = GENERATE("highest", "medium");
    const Threads two(2);
    const Tensor x = ones({600, 600});
    const auto user = std::this_thread::get_id();
    std::mutex mutex;
    std::condition_variable done;
    double own = 0;
    bool is_restored = false;
    const double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    kernels::parallel_blocks(2, 1, [&](std::int64_t, std::int64_t) {
        std::unique_lock lock(mutex);
        if (std::this_thread::get_id() == user) {  // leaves the products to the worker, and no thread spins
            done.wait_for(lock, std::chrono::seconds(60), [&] { return own > 0; });
            return;
        }
        const OpenMPThreads asked(4);
        const Float32MatmulPrecision in(precision);
        const double start = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < 60; ++i) (void)matmul(x, x);
        own += seconds(CLOCK_THREAD_CPUTIME_ID) - start;
        is_restored = asked.are_set();
        done.notify_all();
    });
    const double others = seconds(CLOCK_PROCESS_CPUTIME_ID) - before - own;
    INFO("the task's thread " << own << " s, others " << others << " s");
    CHECK(others < 0.2 * own);
    CHECK(is_restored);
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

TEST_CASE("two user threads that train side by side share the workers and get the bits that each gets alone",
          "[threads]") {
    const char* const alone = std::getenv("WEFT_TEST_SIDE_BY_SIDE");
    if (alone == nullptr) {  // in a process of its own, which has no threads of other tests
        CHECK(std::system(("WEFT_TEST_SIDE_BY_SIDE=1 timeout 300 '" + test_program +
                           "' 'two user threads that train side by side*' > /dev/null")
                              .c_str()) == 0);
        return;
    }
    const int before = threads_of_process();  // this one, and those of OpenBLAS
    const Threads four(4);
    const std::vector<double> expected[] = {trained(1), trained(2)};
    std::vector<double> found[2];
    std::atomic<int> running = 2, most = 0;
    std::vector<std::thread> users;
    for (int i = 0; i < 2; ++i)
        users.emplace_back([&, i] {
            for (int times = 0; times < 3; ++times) found[i] = trained(static_cast<std::uint64_t>(i) + 1);
            --running;
        });
    while (running > 0) {
        most = std::max(most.load(), threads_of_process());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (std::thread& user : users) user.join();
    for (int i = 0; i < 2; ++i) CHECK(found[i] == expected[i]);
    INFO(before << " threads before, at most " << most);
    CHECK(most <= before + 2 * 4);
    CHECK(most >= before + 2);
}

TEST_CASE("two user threads share as many workers as one has alone", "[threads]") {
    const Threads four(4);
    const int workers = std::max(4, static_cast<int>(std::thread::hardware_concurrency())) - 1;
    std::atomic<int> running = 0, most = 0;
    const auto work = [&] {
        for (int times = 0; times < 20; ++times)
            kernels::parallel_blocks(16, 1, [&](std::int64_t, std::int64_t) {
                const int now = ++running;
                for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                --running;
            });
    };
    std::thread one(work), other(work);
    one.join();
    other.join();
    INFO("at most " << most << " tasks at once");
    CHECK(most <= 2 + workers);
    CHECK(most >= 4);
}

TEST_CASE("a new number of threads counts in every user thread", "[threads]") {
    const auto in_another_thread = [&](int n) {
        int result = 0;
        std::thread([&] { result = taking_part(n); }).join();
        return result;
    };
    CHECK(taking_part(2) == 2);
    CHECK(in_another_thread(5) == 5);
    CHECK(taking_part(5) == 5);
    CHECK(in_another_thread(2) == 2);
    CHECK(taking_part(5) == 5);
}

TEST_CASE("the quota is the smallest limit of the process's cgroup and those above it, rounded up",
          "[threads]") {
    const Scratch scratch;
    const auto write = [&](const std::string& name, const std::string& text) {
        std::filesystem::create_directories((scratch / name).parent_path());
        std::ofstream(scratch / name) << text << "\n";
    };
    const auto processors = [&](const std::string& groups) {
        write("groups", groups);
        return kernels::cgroup_processors(scratch / "groups", scratch.folder());
    };
    CHECK(kernels::cgroup_processors(scratch / "missing", scratch.folder()) == 0);
    CHECK(processors("0::/") == 0);  // there is no cpu.max
    const std::pair<const char*, int> limits[] = {{"max 100000", 0},
                                                  {"200000 100000", 2},
                                                  {"150000 100000", 2},
                                                  {"100001 100000", 2},
                                                  {"50000 100000", 1},
                                                  {"1000 100000", 1},
                                                  {"300000 50000", 6},
                                                  {"100000 0", 0},
                                                  {"-100000 100000", 0},
                                                  {"many 100000", 0},
                                                  {"", 0},
                                                  {"900000000000 100000", 1024}};
    for (const auto& [limit, expected] : limits) {
        INFO(limit);
        write("cpu.max", limit);
        CHECK(processors("0::/") == expected);
        CHECK(kernels::cgroup_processors(scratch / "missing", scratch.folder()) == expected);
    }
    write("cpu.max", "800000 100000");
    write("a/cpu.max", "max 100000");
    write("a/b/cpu.max", "300000 100000");
    write("a/b/c/d/cpu.max", "400000 100000");
    CHECK(processors("0::/a") == 8);
    CHECK(processors("0::/a/b") == 3);
    CHECK(processors("9:cpu:/a/b\n0::/a") == 8);   // the line of version 1 does not count
    CHECK(processors("0::/a/b/c/d") == 3);         // and c has no limit
    CHECK(processors("0::/../elsewhere/b") == 8);  // outside of what is mounted
    write("a/cpu.max", "100000 100000");
    CHECK(processors("0::/a/b") == 1);
}
