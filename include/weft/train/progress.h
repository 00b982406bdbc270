// What a training shows while it runs.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace weft::training {

// A line for each evaluation, and on a terminal a bar that moves:
//
//     training::Progress progress(step, steps, batch * block_size);
//     for (; step < steps; ++step) {
//         // train
//         progress.step(step + 1, loss.item());
//         if (step % 100 == 0) progress.evaluated(step + 1, loss.item(), training::evaluate(validation,
//         loss_of));
//     }
class Progress {
public:
    // Of a run from first_step to `steps`, with so many tokens in each step.
    Progress(std::int64_t first_step, std::int64_t steps, std::int64_t tokens_per_step);
    ~Progress();  // erases the bar

    void step(std::int64_t done, double loss);                                     // after each step
    void evaluated(std::int64_t done, double loss, double validation_loss) const;  // a line that stays
    void warn(const std::string& message) const;  // training::warn beside the bar

private:
    using Clock = std::chrono::steady_clock;
    std::int64_t first_, steps_, tokens_per_step_, done_;
    double loss_ = 0;  // a running mean
    bool terminal_ = isatty(STDOUT_FILENO) == 1;
    Clock::time_point start_ = Clock::now(), drawn_ = start_;

    std::string speed() const;  // "41200 tokens/s  0:12 left"
    void clear() const;
};

// "PROGRAM: warning: MESSAGE" on standard error.
void warn(const std::string& message);

}  // namespace weft::training
