#include "weft/training/progress.h"

#include <err.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/text.h"
#include "weft/viz/attention_map.h"

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

namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
    std::string locale;
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (locale.empty()) locale = variable(name);
    for (char& c : locale) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

}  // namespace

Terminal::Terminal(int file) : file_(file), unicode_(locale_is_utf8()) {
    const std::string kind = variable("TERM");
    drawn_ = isatty(file) == 1 && !kind.empty() && kind != "dumb" && variable("NO_COLOR").empty();
}

std::size_t Terminal::columns() const {
    winsize size{};
    if (ioctl(file_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    std::size_t columns = 0;
    const bool is_given = read_number<std::size_t>(variable("COLUMNS"), 1, 10'000, columns).empty();
    return is_given ? columns : 80;
}

std::string Terminal::coloured(const std::string& text, Colour colour) const {
    return drawn_ ? "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + text + "\x1b[0m" : text;
}

std::string Terminal::link(const std::filesystem::path& path) const {
    if (!drawn_ || variable("TERM") == "linux")
        return path.string();  // the console would show the link's codes
    std::string address;
    for (const char c : std::filesystem::absolute(path).string()) {
        char code[4];
        std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) || std::string_view("/-._~").find(c) < 5;
        address += plain ? std::string(1, c) : code;
    }
    return "\x1b]8;;file://" + address + "\x1b\\" + path.string() + "\x1b]8;;\x1b\\";
}

std::string Terminal::folded(const std::vector<std::string>& parts, const std::string& separator,
                             const std::string& more) const {
    const std::size_t limit = drawn_ ? columns() : std::string::npos;
    std::string text;
    std::size_t used = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t width = display_width(parts[i]);
        const std::size_t reserve = i + 1 < parts.size() ? more.size() : 0;
        if (i > 0 && used + separator.size() + width + reserve > limit) {
            text += more + "\n  ";
            used = 2;
        } else if (i > 0) {
            text += separator;
            used += separator.size();
        }
        text += parts[i];
        used += width;
    }
    return text;
}

double peak_memory() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    constexpr double unit = 1 << 20;  // bytes
#else
    constexpr double unit = 1 << 10;  // kibibytes
#endif
    return static_cast<double>(usage.ru_maxrss) / unit;
}

namespace {

using Colour = Terminal::Colour;
using Clock = std::chrono::steady_clock;

constexpr std::size_t finest = 256;  // parts of the run whose losses are kept

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

std::string fixed(double value, int decimals) { return to_chars(value, std::chars_format::fixed, decimals); }

// The mean losses of equal parts of the run, as blocks of eight heights between the lowest and the highest.
std::string sparkline(const std::vector<double>& losses, std::size_t width) {
    static const char* const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const std::size_t n = losses.size(), cells = std::min(n, width);
    std::vector<double> means;
    for (std::size_t i = 0; i < cells; ++i) {
        double sum = 0;
        const std::size_t begin = i * n / cells, end = (i + 1) * n / cells;
        for (std::size_t j = begin; j < end; ++j) sum += losses[j];
        means.push_back(sum / static_cast<double>(end - begin));
    }
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double mean : means)
        if (std::isfinite(mean)) low = std::min(low, mean), high = std::max(high, mean);
    std::string line;
    for (const double mean : means)
        line +=
            std::isfinite(mean) ? heights[std::lround(high > low ? 7 * (mean - low) / (high - low) : 0)] : "!";
    return line;
}

}  // namespace

struct Progress::State {
    std::int64_t first, steps, tokens_per_step, done;
    bool quiet;
    Terminal terminal = Terminal();
    double start = now(), drawn = 0;  // the first step is drawn
    Pace pace;
    double loss = 0, lowest = std::numeric_limits<double>::infinity();
    std::vector<double> losses = {}, counts = {};  // mean losses of up to `finest` parts of the run
    std::size_t last_part = 0;

    std::string counted() const {  // " 100/2000"
        const std::string total = std::to_string(steps);
        return viz::pad_left(std::to_string(done), total.size()) + "/" + total;
    }
    std::string speed() const {
        return fixed(static_cast<double>(tokens_per_step) / std::max(1e-9, pace.seconds_per_step()), 0) +
               " tokens/s";
    }
    void add(double value) {
        const auto part =
            static_cast<std::size_t>(static_cast<double>(done - 1 - first) * finest /
                                     static_cast<double>(std::max<std::int64_t>(1, steps - first)));
        if (losses.empty() || part != last_part) losses.push_back(0), counts.push_back(0);
        last_part = part;
        losses.back() += (value - losses.back()) / ++counts.back();
    }
    std::string last_line() const;
    void clear() const {
        if (terminal.is_drawn() && !quiet) std::printf("\r\x1b[K");
    }
};

// What fits, the most useful first, leaving the columns in which the terminal echoes ^C.
std::string Progress::State::last_line() const {
    const std::size_t columns = terminal.columns(), width = columns - std::min<std::size_t>(columns, 3);
    const std::string count = counted();
    std::size_t used = count.size();
    if (used > width) return "";
    const auto fitting = [&](const std::string& part) {
        const std::size_t needed = display_width(part) + 2;
        if (used + needed > width) return std::string();
        used += needed;
        return "  " + part;
    };
    const std::string shown_loss = fitting("loss " + fixed(loss, 4)),
                      left = fitting(duration(pace.seconds_left()) + " left");
    std::size_t bar = std::min<std::size_t>(width - used, 12);  // includes a space on its right
    used += bar = bar < 6 ? 0 : bar;
    const std::string tokens = fitting(speed());
    std::string curve;
    if (terminal.has_unicode() && width - used >= 10) {
        curve = "  " + sparkline(losses, std::clamp<std::size_t>((width - used) / 2, 8, 32));
        used += display_width(curve);
    }
    if (bar > 0) bar += std::min<std::size_t>(width - used, 28);
    std::string line;
    if (bar > 0) {
        const std::size_t cells = bar - (terminal.has_unicode() ? 1 : 3);
        const auto filled = static_cast<std::size_t>(static_cast<double>(cells) * static_cast<double>(done) /
                                                     static_cast<double>(steps));
        if (terminal.has_unicode())
            line = terminal.coloured(viz::repeated("━", filled), Colour::green) +
                   terminal.coloured(viz::repeated("─", cells - filled), Colour::dim) + " ";
        else
            line = "[" + std::string(filled, '#') + std::string(cells - filled, '.') + "] ";
    }
    return line + count + shown_loss + terminal.coloured(curve, Colour::cyan) +
           terminal.coloured(tokens + left, Colour::dim);
}

Progress::Progress(std::int64_t first_step, std::int64_t steps, std::int64_t tokens_per_step,
                   const ProgressOptions& options)
    : state_(new State{.first = first_step,
                       .steps = steps,
                       .tokens_per_step = tokens_per_step,
                       .done = first_step,
                       .quiet = options.quiet,
                       .pace = Pace(first_step, steps, options.eval_interval, now())}) {}

Progress::~Progress() {
    state_->clear();
    std::fflush(stdout);  // before an error is printed in its place
}

void Progress::step(std::int64_t done, double loss) {
    State& s = *state_;
    s.loss = s.done == s.first ? loss : 0.95 * s.loss + 0.05 * loss;
    s.done = done;
    s.add(loss);
    const double time = now();
    s.pace.step(done, time);
    if (s.quiet || !s.terminal.is_drawn() || time - s.drawn < 0.1) return;
    s.drawn = time;
    std::printf("\r\x1b[K%s", s.last_line().c_str());
    std::fflush(stdout);
}

void Progress::evaluated(std::int64_t done, std::optional<double> loss, double validation_loss) {
    State& s = *state_;
    s.done = done;
    s.pace.evaluated(done, now());
    if (s.quiet) return;
    const bool is_best = validation_loss < s.lowest;
    s.lowest = std::min(s.lowest, validation_loss);
    const std::string validation = "validation " + fixed(validation_loss, 4);
    std::vector<std::string> parts = {"step " + s.counted(),
                                      "loss " + (loss ? fixed(*loss, 4) : viz::pad_left("-", 6)), validation};
    if (s.pace.seconds_per_step() > 0)
        parts.insert(parts.end(), {s.speed(), done < s.steps ? duration(s.pace.seconds_left()) + " left"
                                                             : "took " + duration(now() - s.start)});
    std::string line = s.terminal.folded(parts, "  ");
    if (is_best)
        line.replace(line.find(validation), validation.size(), s.terminal.coloured(validation, Colour::green));
    s.clear();
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void Progress::print(const std::string& line) {
    if (state_->quiet) return;
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; std::getline(stream, word, ' ');) words.push_back(word);
    state_->clear();
    std::printf("%s\n", printable(state_->terminal.folded(words)).c_str());
    std::fflush(stdout);
}

void Progress::warn(const std::string& message) {
    state_->clear();
    std::fflush(stdout);
    training::warn(message);
}

void warn(const std::string& message) {
    const Terminal terminal(STDERR_FILENO);
    ::warnx("%s %s", terminal.coloured("warning:", Colour::yellow).c_str(), printable(message).c_str());
}

}  // namespace weft::training
