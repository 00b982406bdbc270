// How fast a run is, and how long it still takes. Times are in seconds since any moment.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace weft::training {

class Pace {
public:
    // A run from first_step to `steps` with an evaluation at each multiple of eval_interval and at the end, or,
    // if that is 0, with none.
    Pace(std::int64_t first_step, std::int64_t steps, std::int64_t eval_interval, double now);

    void step(std::int64_t done, double now);       // `done` steps are done
    void evaluated(std::int64_t done, double now);  // called when an evaluation has ended

    double seconds_per_step() const;  // the mean of up to 100 steps; 0 before the first
    // Includes the evaluations still to come, each as long as the last three were on average.
    double seconds_left() const;

private:
    std::int64_t first_, steps_, interval_, done_, evaluated_ = -1;
    double start_;  // when the next step or evaluation started
    std::deque<double> step_seconds_, evaluation_seconds_;
};

// "54 s", "3 min 05 s", "1 h 05 min", "2 d 04 h"
std::string duration(double seconds);

}  // namespace weft::training
