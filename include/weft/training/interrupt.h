// Signals that ask a program to end: Ctrl-C, a closed terminal, kill.
#pragma once

#include <csignal>

namespace weft::training {

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

}  // namespace weft::training
