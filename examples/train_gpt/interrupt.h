// Signals that ask the program to end: Ctrl-C, a terminal that goes away, kill.
#pragma once

#include <csignal>

// While one lives, SIGINT, SIGHUP and SIGTERM ask the training to stop instead of ending the program. Each asks
// once: a second Ctrl-C ends the program at once, and the last checkpoint stays.
class CatchInterrupt {
public:
    CatchInterrupt();
    ~CatchInterrupt();
    CatchInterrupt(const CatchInterrupt&) = delete;
    CatchInterrupt& operator=(const CatchInterrupt&) = delete;

    static int signal();  // the one that asked, 0 while none has

private:
    struct sigaction before_[3];
};
