// What the output of a program can show: lines that are drawn anew, colours, links; and how wide it is.
#pragma once

#include <unistd.h>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::training {

// An output of the program, asked once what it is. It is drawn on if it is a terminal, TERM is set and not
// "dumb", and NO_COLOR is not set; otherwise it gets plain lines without control codes.
//
//     const training::Terminal terminal;
//     std::puts(terminal.folded({"a", "line", "of", "words"}).c_str());
class Terminal {
public:
    // Colours of text, by their codes.
    enum class Colour {
        dim = 2,      // less bright text
        green = 32,   // a success
        yellow = 33,  // a warning
        cyan = 36     // a curve
    };

    explicit Terminal(int file = STDOUT_FILENO);  // takes the file descriptor of an output

    bool is_drawn() const { return drawn_; }       // whether control codes may be written
    bool has_unicode() const { return unicode_; }  // whether the locale (LC_ALL, LC_CTYPE or LANG) is UTF-8
    std::size_t columns() const;  // how wide it is now; COLUMNS or 80 if the system does not know

    // The text in a colour; as it is where nothing is drawn.
    std::string coloured(const std::string& text, Colour colour) const;
    // The path of a file as a link to it (OSC 8); the path where nothing is drawn.
    std::string link(const std::filesystem::path& path) const;
    // The parts in a line or, where it is drawn on and too narrow, in several: each but the last ends in
    // `more`, and each but the first begins with two spaces.
    std::string folded(const std::vector<std::string>& parts, const std::string& separator = " ",
                       const std::string& more = "") const;

private:
    int file_;
    bool drawn_, unicode_;
};

// Signals that ask a program to end: Ctrl-C, a closed terminal, kill.

// While one exists, SIGINT, SIGHUP and SIGTERM do not end the program: its loop checks for them, and can save.
//
//     const training::Interrupt interrupt;
//     for (; step < steps && !interrupt.requested(); ++step) train(step);
//     training::Checkpoint(model, optimizer, step).save(path);
//
// Each is caught once: a second Ctrl-C ends the program. An ignored signal, as under nohup, stays ignored.
class Interrupt {
public:
    // Catches the signals.
    Interrupt() {
        received_ = 0;
        struct sigaction action {};
        action.sa_handler = [](int signal) { received_ = signal; };
        action.sa_flags = SA_RESTART | SA_RESETHAND;
        for (int i = 0; i < 3; ++i) {
            sigaction(signals_[i], nullptr, &before_[i]);
            if (before_[i].sa_handler != SIG_IGN) sigaction(signals_[i], &action, nullptr);
        }
    }
    // Restores their previous handlers.
    ~Interrupt() {
        for (int i = 0; i < 3; ++i) sigaction(signals_[i], &before_[i], nullptr);
    }
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    int signal() const { return received_; }          // the number of the last signal; 0 if there was none
    bool requested() const { return signal() != 0; }  // whether there was a signal

private:
    static constexpr int signals_[] = {SIGINT, SIGHUP, SIGTERM};
    inline static volatile std::sig_atomic_t received_ = 0;
    struct sigaction before_[3];
};

// What a training program prints while it runs.

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

// Internal: How fast a run is, and how long it still takes. Times are in seconds since any moment.

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
