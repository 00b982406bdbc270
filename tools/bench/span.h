// Work and span of a workload's step: how fast it would be on more cores than the machine has.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>

namespace weft::bench {

// Times in milliseconds, each the fastest of several steps.
struct Span {
    double work = 0;                  // of the serial parts and of all tasks
    double span = 0;                  // of the serial parts and of the longest task of each region
    std::map<int, double> predicted;  // by cores: the time on that many
    double one_thread = 0, two_threads = 0;
};

// Runs `step` at least `repetitions` times on one thread, which records the duration of every task and of the
// serial parts between regions, and alternately as it is on one and two threads. Writes the `lines` loops
// that take the most time on 64 cores to `out`.
//
// The time on P cores is that of the serial parts and, for every region, of a greedy schedule: each task
// starts, in order, on the first core that is free. Such a schedule takes at most work/P + span (Brent, "The
// parallel evaluation of general arithmetic expressions", 1974; Graham, "Bounds for certain multiprocessing
// anomalies", 1966). Starting a region of several tasks costs what it was measured to cost on two threads,
// times log₂ of the number of cores or tasks that take part, as oneTBB halves the range of tasks until each
// core has one.
Span measure_span(const std::function<double()>& step, int repetitions, int lines, std::ostream& out);

}  // namespace weft::bench
