// A thread that notices when another process falls silent.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace weft::dist {

// WEFT_PATIENCE in seconds, by default 5; ValueError if it is not a number from 0.1 to 86400.
double patience();

// Ends this process, with a message, unless it is destroyed within so many seconds.
class Deadline {
public:
    explicit Deadline(double seconds);

private:
    std::jthread thread_;
};

// The time of CLOCK_MONOTONIC in nanoseconds.
std::int64_t nanoseconds();

// Process 0 and each other one tell each other four times a second that they live. Where this stops for
// WEFT_PATIENCE seconds, the one that notices says so and ends them all by MPI_Abort.
class Watch {
public:
    explicit Watch(std::vector<std::string> hosts);
    ~Watch();

    // When the thread last ran. A process that is stopped, and goes on, has an old time here.
    inline static std::atomic<std::int64_t> last = 0;

private:
    const double patience_ = patience();
    int rank_ = 0;
    std::vector<std::string> hosts_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    std::jthread thread_;

    void run(const std::stop_token& stop);
};

}  // namespace weft::dist
