#include "training/pace.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace weft::training {

namespace {

void add(std::deque<double>& window, std::size_t size, double seconds) {
    window.push_back(seconds);
    if (window.size() > size) window.pop_front();
}

double mean(const std::deque<double>& window) {
    return window.empty()
               ? 0
               : std::accumulate(window.begin(), window.end(), 0.0) / static_cast<double>(window.size());
}

}  // namespace

Pace::Pace(std::int64_t first_step, std::int64_t steps, std::int64_t eval_interval, double now)
    : first_(first_step), steps_(steps), interval_(eval_interval), done_(first_step), start_(now) {}

void Pace::step(std::int64_t done, double now) {
    if (done_ == first_ + 1)
        step_seconds_.clear();  // the first step also allocates memory and checks the model
    add(step_seconds_, 100, now - start_);
    done_ = done;
    start_ = now;
}

void Pace::evaluated(std::int64_t done, double now) {
    add(evaluation_seconds_, 3, now - start_);
    done_ = evaluated_ = done;
    start_ = now;
}

double Pace::seconds_per_step() const { return mean(step_seconds_); }

double Pace::seconds_left() const {
    std::int64_t evaluations = 0;
    if (interval_ > 0 && evaluated_ < steps_) {
        const std::int64_t next = evaluated_ == done_ ? done_ + 1 : done_;
        const std::int64_t multiples = (steps_ - 1) / interval_ - (next + interval_ - 1) / interval_ + 1;
        evaluations = std::max<std::int64_t>(0, multiples) + 1;
    }
    return static_cast<double>(steps_ - done_) * seconds_per_step() +
           static_cast<double>(evaluations) * mean(evaluation_seconds_);
}

std::string duration(double seconds) {
    const auto s = static_cast<long long>(std::min(std::max(0.0, seconds) + 0.5, 1e15));
    char text[64];
    if (s < 60)
        std::snprintf(text, sizeof text, "%lld s", s);
    else if (s < 3600)
        std::snprintf(text, sizeof text, "%lld min %02lld s", s / 60, s % 60);
    else if (s < 48 * 3600)
        std::snprintf(text, sizeof text, "%lld h %02lld min", s / 3600, s / 60 % 60);
    else
        std::snprintf(text, sizeof text, "%lld d %02lld h", s / 86400, s / 3600 % 24);
    return text;
}

}  // namespace weft::training
