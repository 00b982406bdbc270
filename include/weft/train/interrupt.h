// Signals that ask a program to end: Ctrl-C, a terminal that is closed, kill.
#pragma once

#include <csignal>

namespace weft::training {

// While one exists, SIGINT, SIGHUP and SIGTERM do not end the program; its loop sees them, and can save:
//
//     const training::Interrupt interrupt;
//     for (; step < steps && !interrupt.requested(); ++step) …
//     training::Checkpoint(model, optimizer, step).save(path);
//
// Each is caught once: a second Ctrl-C ends the program at once. One that is ignored, as under nohup, stays so.
class Interrupt {
public:
    Interrupt();
    ~Interrupt();  // the signals do again what they did before
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    int signal() const;  // the number of the last one that came; 0 before
    bool requested() const { return signal() != 0; }

private:
    struct sigaction before_[3];
};

}  // namespace weft::training
