// What a training program prints while it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace weft::training {

// The most memory that this process has had resident so far, in MiB (getrusage's ru_maxrss).
//
//     const double peak = training::peak_memory();
double peak_memory();

// Options of Progress.
//
//     const training::ProgressOptions silent{.eval_interval = 100, .quiet = true};
//     training::Progress unseen(0, steps, batch_size * block_size, silent);
struct ProgressOptions {
    std::int64_t eval_interval = 0;  // steps between evaluations, which the time left counts; 0: none
    bool quiet = false;              // print nothing but warnings
};

// A line for each evaluation and, where lines can be drawn anew (Terminal), a last line with a bar, the loss,
// its curve, the speed and the time left, as many of them as the terminal is wide enough for.
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
    Progress(std::int64_t first_step, std::int64_t steps, std::int64_t tokens_per_step,
             const ProgressOptions& options = {});
    ~Progress();  // erases the last line
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // Draws the last line after `done` steps, at most ten times a second. Its loss is a running mean.
    void step(std::int64_t done, double loss);
    // Prints "step  100/2000  loss 2.3026  validation 2.4021  41200 tokens/s  12 s left"; without a loss, as
    // before the first step, a dash in its place. The speed is that of the last hundred steps without
    // evaluations.
    void evaluated(std::int64_t done, std::optional<double> loss, double validation_loss);
    void print(const std::string& line);    // prints a line of words above the last line
    void warn(const std::string& message);  // erases the last line, then training::warn

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Prints "PROGRAM: warning: MESSAGE" on standard error.
//
//     training::warn("the text has 40 characters; give at least 100");
void warn(const std::string& message);

}  // namespace weft::training
