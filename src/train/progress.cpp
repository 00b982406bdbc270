#include "weft/train/progress.h"

#include <err.h>

#include <algorithm>
#include <cstdio>

namespace weft::training {

Progress::Progress(std::int64_t first_step, std::int64_t steps, std::int64_t tokens_per_step)
    : first_(first_step), steps_(steps), tokens_per_step_(tokens_per_step), done_(first_step) {}

Progress::~Progress() { clear(); }

void Progress::step(std::int64_t done, double loss) {
    loss_ = done_ == first_ ? loss : 0.95 * loss_ + 0.05 * loss;
    done_ = done;
    const Clock::time_point now = Clock::now();
    if (!terminal_ || now - drawn_ < std::chrono::milliseconds(100)) return;
    drawn_ = now;
    constexpr std::int64_t width = 30;
    const auto filled = static_cast<std::size_t>(width * done / steps_);
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    std::printf("\r\x1b[K[%s] %lld/%lld  loss %.4f  %s", bar.c_str(), static_cast<long long>(done),
                static_cast<long long>(steps_), loss_, speed().c_str());
    std::fflush(stdout);
}

void Progress::evaluated(std::int64_t done, double loss, double validation_loss) const {
    clear();
    std::printf("step %6lld/%lld  loss %.4f  validation %.4f", static_cast<long long>(done),
                static_cast<long long>(steps_), loss, validation_loss);
    if (done > first_) std::printf("  %s", speed().c_str());
    std::printf("\n");
    std::fflush(stdout);
}

void Progress::warn(const std::string& message) const {
    clear();
    std::fflush(stdout);
    training::warn(message);
}

std::string Progress::speed() const {
    const double seconds = std::max(1e-9, std::chrono::duration<double>(Clock::now() - start_).count());
    const double steps_per_second = static_cast<double>(done_ - first_) / seconds;
    const double left = static_cast<double>(steps_ - done_) / std::max(1e-9, steps_per_second);
    const auto whole = static_cast<long long>(left);
    char text[80];
    std::snprintf(text, sizeof text, "%.0f tokens/s  %lld:%02lld left",
                  steps_per_second * static_cast<double>(tokens_per_step_), whole / 60, whole % 60);
    return text;
}

void Progress::clear() const {
    if (terminal_) std::printf("\r\x1b[K");
}

void warn(const std::string& message) { ::warnx("warning: %s", message.c_str()); }

}  // namespace weft::training
