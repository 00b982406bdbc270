#include "dist/watch.h"

#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "dist/transport.h"
#include "weft/base/text.h"
#include "weft/core/error.h"

namespace weft::dist {

namespace {

constexpr std::chrono::nanoseconds pulse = std::chrono::milliseconds(250);

}  // namespace

double patience() {
    const char* text = std::getenv("WEFT_PATIENCE");
    double seconds = 5;
    if (text == nullptr) return seconds;
    if (const std::string problem = read_number(text, 0.1, 86400.0, seconds); !problem.empty())
        throw ValueError("Group: WEFT_PATIENCE, in seconds: ", problem);
    return seconds;
}

std::int64_t nanoseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

Deadline::Deadline(double seconds)
    : thread_([seconds](Thread& thread) {
          const std::chrono::duration<double> time(seconds);
          if (thread.ends_within(std::chrono::duration_cast<std::chrono::nanoseconds>(time))) return;
          std::fprintf(stderr,
                       "a process on %s has waited %g s for the others to make their groups, and ends; they "
                       "are stopped, out of reach, or need a larger WEFT_PATIENCE\n",
                       this_host().c_str(), seconds);
          ::_exit(1);
      }) {}

Watch::Watch(std::vector<std::string> hosts) : hosts_(std::move(hosts)) {
    last = nanoseconds();
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    MPI_Comm_rank(communicator_, &rank_);
    thread_.emplace([this](Thread& thread) { run(thread); });
}

void Watch::run(Thread& thread) {
    struct Other {
        int rank;
        std::int64_t heard = nanoseconds();
        MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
        char in = 0;
    };
    std::vector<Other> others;
    for (int other = 0; other < static_cast<int>(hosts_.size()); ++other)
        if ((rank_ == 0) != (other == 0)) others.push_back({.rank = other});
    const char out = 1;
    do {
        const std::int64_t now = nanoseconds();
        // If this process was stopped itself, what it missed is no silence.
        const bool slept = now - last > 4 * pulse.count();
        last = now;
        for (Other& other : others) {
            int done = 1;
            if (other.sending != MPI_REQUEST_NULL) MPI_Test(&other.sending, &done, MPI_STATUS_IGNORE);
            if (done != 0) MPI_Isend(&out, 1, MPI_CHAR, other.rank, 0, communicator_, &other.sending);
            if (slept) other.heard = now;
            for (done = 1; done != 0;) {
                if (other.receiving == MPI_REQUEST_NULL)
                    MPI_Irecv(&other.in, 1, MPI_CHAR, other.rank, 0, communicator_, &other.receiving);
                MPI_Test(&other.receiving, &done, MPI_STATUS_IGNORE);
                if (done != 0) other.heard = now;
            }
            if (static_cast<double>(now - other.heard) <= 1e9 * patience_) continue;
            std::fprintf(
                stderr,
                "process %d on %s has been silent for %g s, so all processes end; process %d on %s is at "
                "step %lld, in %s\n",
                other.rank, hosts_[static_cast<std::size_t>(other.rank)].c_str(), patience_, rank_,
                hosts_[static_cast<std::size_t>(rank_)].c_str(), static_cast<long long>(Doing::step),
                static_cast<const char*>(Doing::now));
            std::this_thread::sleep_for(pulse);  // for mpirun to read it: MPICH's drops what it has not read
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    } while (!thread.ends_within(pulse));
    for (Other& other : others)
        for (MPI_Request* request : {&other.sending, &other.receiving})
            if (*request != MPI_REQUEST_NULL) {
                MPI_Cancel(request);
                MPI_Request_free(request);
            }
}

}  // namespace weft::dist
