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

// For a program with nothing to save: from now on the first of them ends it at once, whatever it is doing, with
// 128 + the signal's number.
void end_at_interrupt();
// From now on after a line break on standard output, which holds a text that may lack one.
void end_with_line_break();
