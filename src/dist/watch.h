// A thread that notices when another process falls silent.
#pragma once

#include <mpi.h>

#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace weft::dist {

// Process 0 and each other one tell each other four times a second that they live. Where this stops for
// WEFT_PATIENCE seconds, the one that notices says so and ends them all by MPI_Abort.
class Watch {
public:
    // ValueError if WEFT_PATIENCE is not a number of seconds from 0.1 to 86400.
    explicit Watch(std::vector<std::string> hosts);
    ~Watch();

private:
    double patience_;
    int rank_ = 0;
    std::vector<std::string> hosts_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    std::jthread thread_;

    void run(const std::stop_token& stop);
};

}  // namespace weft::dist
