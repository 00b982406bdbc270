// Schedules of the learning rate.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"

namespace weft::optim {

namespace {

void check_steps(const char* schedule, std::int64_t step, const char* name, std::int64_t count) {
    if (step < 0 || count < 1)
        throw ValueError(schedule, ": step is ", step, " and ", name, " ", count,
                         "; use at least 0 and at least 1");
}

void check_above_0(double value, const char* what) {
    if (!(value > 0) || !std::isfinite(value))
        throw ValueError("one_cycle_lr: ", what, " must be finite and above 0, not ", value);
}

}  // namespace

double cosine_lr(std::int64_t step, const CosineOptions& options) {
    check_rate(options.lr, "lr");
    check_rate(options.min_lr, "min_lr");
    if (options.min_lr > options.lr)
        throw ValueError("cosine_lr: min_lr ", options.min_lr, " is above lr ", options.lr);
    if (step < 0 || options.warmup_steps < 0 || options.steps < 0)
        throw ValueError("cosine_lr: step ", step, ", warmup_steps ", options.warmup_steps, " and steps ",
                         options.steps, " must be at least 0");
    if (step < options.warmup_steps)
        return options.lr * static_cast<double>(step + 1) / static_cast<double>(options.warmup_steps + 1);
    if (step >= options.steps) return options.min_lr;
    const double done = static_cast<double>(step - options.warmup_steps) /
                        static_cast<double>(options.steps - options.warmup_steps);
    return options.min_lr + (options.lr - options.min_lr) * (1 + std::cos(std::numbers::pi * done)) / 2;
}

double step_lr(std::int64_t step, const StepOptions& options) {
    check_rate(options.lr, "lr");
    check_rate(options.gamma, "gamma");
    check_steps("step_lr", step, "step_size", options.step_size);
    return options.lr * std::pow(options.gamma, static_cast<double>(step / options.step_size));
}

double linear_lr(std::int64_t step, const LinearOptions& options) {
    check_rate(options.lr, "lr");
    check_rate(options.start_factor, "start_factor");
    check_rate(options.end_factor, "end_factor");
    check_steps("linear_lr", step, "total_iters", options.total_iters);
    const double done =
        static_cast<double>(std::min(step, options.total_iters)) / static_cast<double>(options.total_iters);
    return options.lr * (options.start_factor + (options.end_factor - options.start_factor) * done);
}

double one_cycle_lr(std::int64_t step, const OneCycleOptions& options) {
    check_rate(options.max_lr, "max_lr");
    check_above_0(options.div_factor, "div_factor");
    check_above_0(options.final_div_factor, "final_div_factor");
    check_steps("one_cycle_lr", step, "total_steps", options.total_steps);
    if (!(options.pct_start >= 0 && options.pct_start <= 1))
        throw ValueError("one_cycle_lr: pct_start must be 0 to 1, not ", options.pct_start);
    const double first = options.max_lr / options.div_factor, last = first / options.final_div_factor;
    const double total = static_cast<double>(options.total_steps), rise = options.pct_start * total;
    struct Phase {
        double end, from, to;  // its last step, and its rates
    };
    std::vector<Phase> phases{{rise - 1, first, options.max_lr}};
    if (options.three_phase) phases.push_back({2 * rise - 2, options.max_lr, first});
    phases.push_back({total - 1, phases.back().to, last});
    const double at = std::min(static_cast<double>(step), total - 1);
    double begin = 0;
    std::size_t i = 0;
    for (; i + 1 < phases.size() && (at > phases[i].end || phases[i].end <= begin); ++i) begin = phases[i].end;
    const Phase& phase = phases[i];
    const double done = phase.end > begin ? (at - begin) / (phase.end - begin) : 1;
    if (options.anneal_strategy == Anneal::linear) return phase.from + (phase.to - phase.from) * done;
    return phase.to + (phase.from - phase.to) / 2 * (std::cos(std::numbers::pi * done) + 1);
}

}  // namespace weft::optim
