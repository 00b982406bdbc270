#include "interrupt.h"

namespace {

constexpr int signals[] = {SIGINT, SIGHUP, SIGTERM};
volatile std::sig_atomic_t asked = 0;

}  // namespace

CatchInterrupt::CatchInterrupt() {
    asked = 0;
    struct sigaction action {};
    action.sa_handler = [](int signal) { asked = signal; };
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    for (int i = 0; i < 3; ++i) {
        sigaction(signals[i], nullptr, &before_[i]);
        // What nohup ignores stays ignored.
        if (before_[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
    }
}

CatchInterrupt::~CatchInterrupt() {
    for (int i = 0; i < 3; ++i) sigaction(signals[i], &before_[i], nullptr);
}

int CatchInterrupt::signal() { return asked; }
