// What a training program prints while it runs.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::training {

// A line for each evaluation and, on a terminal, a progress bar.
//
//     training::Progress progress(0, steps, batch_size * block_size);
//     for (std::int64_t step = 0; step < steps; ++step) {
//         const double loss = train(step);
//         progress.step(step + 1, loss);
//         if (step % 100 == 0) progress.evaluated(step + 1, loss, validate());
//     }
class Progress {
public:
    // For a run from first_step to `steps`.
    Progress(std::int64_t first_step, std::int64_t steps, std::int64_t tokens_per_step);
    ~Progress();  // erases the bar

    // Draws the bar after `done` steps, at most ten times a second. Its loss is a running mean.
    void step(std::int64_t done, double loss);
    // Prints "step    100/2000  loss 2.3026  validation 2.4021  41200 tokens/s  0:12 left".
    void evaluated(std::int64_t done, double loss, double validation_loss) const;
    void warn(const std::string& message) const;  // erases the bar, then training::warn

private:
    using Clock = std::chrono::steady_clock;
    std::int64_t first_, steps_, tokens_per_step_, done_;
    double loss_ = 0;  // a running mean
    bool terminal_ = isatty(STDOUT_FILENO) == 1;
    Clock::time_point start_ = Clock::now(), drawn_ = start_;

    std::string speed() const;
    void clear() const;
};

// Prints "PROGRAM: warning: MESSAGE" on standard error.
//
//     training::warn("the text has 40 characters; give at least 100");
void warn(const std::string& message);

}  // namespace weft::training
