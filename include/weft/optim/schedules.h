// Learning rates by step.
#pragma once

#include <cstdint>

namespace weft::optim {

// Options of cosine_lr.
struct CosineOptions {
    double lr = 1e-3;               // highest rate
    double min_lr = 0;              // final rate
    std::int64_t warmup_steps = 0;  // steps of rising rate
    std::int64_t steps = 1;         // the rate is min_lr from this step on
};
// Returns the learning rate of step 0, 1, …: lr·(step + 1)/(warmup_steps + 1) while step < warmup_steps, then
// half a cosine from lr down to min_lr at step = steps, and min_lr after that (Loshchilov and Hutter, "SGDR",
// 2017, eq. 5, without restarts). ValueError when a number is negative or not finite, or min_lr > lr.
//
//     const double rate = optim::cosine_lr(50, {.lr = 0.1, .steps = 100});  // 0.05, half way down
double cosine_lr(std::int64_t step, const CosineOptions& options);

// Options of step_lr.
struct StepOptions {
    double lr = 1e-3;            // initial rate
    std::int64_t step_size = 1;  // steps between two falls, at least 1
    double gamma = 0.1;          // factor of each fall
};
// lr · gamma^⌊step / step_size⌋.
//
//     const double rate = optim::step_lr(60, {.lr = 0.1, .step_size = 30});  // 0.001, after two falls
double step_lr(std::int64_t step, const StepOptions& options);

// Options of linear_lr.
struct LinearOptions {
    double lr = 1e-3;               // the rate that the factors multiply
    double start_factor = 1.0 / 3;  // factor at step 0
    double end_factor = 1;          // reached at step total_iters
    std::int64_t total_iters = 5;   // at least 1
};
// lr · f, where f goes in a line from start_factor to end_factor and stays there.
//
//     const double rate = optim::linear_lr(5, {.lr = 0.1, .start_factor = 0, .total_iters = 10});  // 0.05
double linear_lr(std::int64_t step, const LinearOptions& options);

// The path from one rate to the next.
enum class Anneal {
    cos,    // half a cosine
    linear  // a line
};

// Options of one_cycle_lr.
struct OneCycleOptions {
    double max_lr = 1e-3;                  // highest rate
    std::int64_t total_steps = 1;          // steps of the whole training, at least 1
    double pct_start = 0.3;                // share of the steps in which the rate rises, in [0, 1]
    Anneal anneal_strategy = Anneal::cos;  // the curve of each phase
    double div_factor = 25;                // the first rate is max_lr / div_factor; above 0
    double final_div_factor = 1e4;         // the last rate is the first one / final_div_factor; above 0
    bool three_phase = false;              // down to the first rate as fast as it rose, then to the last
};
// Up to max_lr, then down to the last rate, which stays (Smith and Topin, "Super-convergence", 2018, §3).
// Momentum does not change: PyTorch's OneCycleLR with cycle_momentum=False.
//
//     const double rate = optim::one_cycle_lr(29, {.max_lr = 0.1, .total_steps = 100});  // 0.1, the highest
double one_cycle_lr(std::int64_t step, const OneCycleOptions& options);

}  // namespace weft::optim
