// report.html: a page that shows the run while it goes and when it is done.
#pragma once

#include <string>
#include <vector>

#include "history.h"
#include "run.h"

class RunReport {
public:
    // Of a new run, or, where there are steps in its past, of the report that it left; without one, of its
    // history.
    RunReport(const Run& run, const History& history, const std::u32string& text, const Corpus& corpus);

    void gradients(const Run& run);      // after backward, at the step that is being made
    void measured(const Measured& row);  // after each step
    void evaluated(Run& run);            // the run writes, and its attention is looked at
    void save(const Run& run);           // weft::IoError when it cannot be written

private:
    weft::viz::Report report_;
    std::vector<std::u32string> sentences_;  // of the held-out text
    std::int64_t gradients_every_, look_every_;

    void look(Run& run);
};
