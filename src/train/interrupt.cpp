#include "interrupt.h"

#include <unistd.h>

namespace {

constexpr int signals[] = {SIGINT, SIGHUP, SIGTERM};
volatile std::sig_atomic_t asked = 0, line_open = 0;

// Keeps in `before` what was done at each; what nohup ignores stays ignored.
void install(void (*handler)(int), struct sigaction (&before)[3]) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    for (int i = 0; i < 3; ++i) {
        sigaction(signals[i], nullptr, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
    }
}

}  // namespace

CatchInterrupt::CatchInterrupt() {
    asked = 0;
    install([](int signal) { asked = signal; }, before_);
}

CatchInterrupt::~CatchInterrupt() {
    for (int i = 0; i < 3; ++i) sigaction(signals[i], &before_[i], nullptr);
}

int CatchInterrupt::signal() { return asked; }

void end_at_interrupt() {
    struct sigaction before[3];
    install(
        [](int signal) {
            if (line_open != 0 && ::write(STDOUT_FILENO, "\n", 1) < 0) ::_exit(1);
            ::_exit(128 + signal);
        },
        before);
}

void end_with_line_break() { line_open = 1; }
