// What is shown while a model trains: on a terminal a bar that moves, otherwise a line for each evaluation.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

class Progress {
public:
    Progress(std::int64_t first_step, std::int64_t steps, std::int64_t tokens_per_step);
    ~Progress();  // the bar goes

    void step(std::int64_t done, double loss);                              // after each step
    void evaluated(std::int64_t done, double loss, double held_out) const;  // a line that stays
    void warn(const std::string& message) const;                            // a line on standard error

private:
    using Clock = std::chrono::steady_clock;
    std::int64_t first_, steps_, tokens_per_step_, done_;
    double loss_ = 0;  // a running mean
    bool terminal_;
    Clock::time_point start_, drawn_;

    std::string speed() const;  // "41200 tokens/s  0:12 left"
    void clear() const;
};
