// A thread that notices when another process falls silent.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft::dist {

// WEFT_PATIENCE in seconds, by default 5; ValueError if it is not a number from 0.1 to 86400.
double patience();

// A thread that ends with this object; std::jthread, which not every standard library has.
class Thread {
public:
    explicit Thread(std::function<void(Thread&)> work) : thread_([this, work] { work(*this); }) {}
    ~Thread() {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    // Whether it should end, which it waits for so long.
    bool ends_within(std::chrono::nanoseconds time) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, time, [this] { return ends_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ends_ = false;
    std::thread thread_;  // the last, for it uses the others
};

// Ends this process, with a message, unless it is destroyed within so many seconds.
class Deadline {
public:
    explicit Deadline(double seconds);

private:
    Thread thread_;
};

// The time of CLOCK_MONOTONIC in nanoseconds.
std::int64_t nanoseconds();

// Process 0 and each other one tell each other four times a second that they live. Where this stops for
// WEFT_PATIENCE seconds, the one that notices says so and ends them all by MPI_Abort.
class Watch {
public:
    explicit Watch(std::vector<std::string> hosts);

    // When the thread last ran. A process that is stopped, and goes on, has an old time here.
    inline static std::atomic<std::int64_t> last = 0;

private:
    const double patience_ = patience();
    int rank_ = 0;
    std::vector<std::string> hosts_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    std::optional<Thread> thread_;

    void run(Thread& thread);
};

}  // namespace weft::dist
