#include "weft/train/interrupt.h"

namespace weft::training {

namespace {

constexpr int signals[] = {SIGINT, SIGHUP, SIGTERM};
volatile std::sig_atomic_t received = 0;

}  // namespace

Interrupt::Interrupt() {
    received = 0;
    struct sigaction action {};
    action.sa_handler = [](int signal) { received = signal; };
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    for (int i = 0; i < 3; ++i) {
        sigaction(signals[i], nullptr, &before_[i]);
        if (before_[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
    }
}

Interrupt::~Interrupt() {
    for (int i = 0; i < 3; ++i) sigaction(signals[i], &before_[i], nullptr);
}

int Interrupt::signal() const { return received; }

}  // namespace weft::training
