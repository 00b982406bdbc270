// The training loop: batches, evaluations, checkpoints, progress.
#pragma once

#include <string>

#include "run.h"

// The step at which options.steps or options.stop_at ends a run.
std::int64_t last_step(const Options& options);
// Whether a run that goes on has nothing left to do: it is at its last step or beyond, and has measured and
// saved what comes after the last.
bool is_done(const Run& run);

enum class Ended { finished, stopped, interrupted };

// Trains until options.steps with an evaluation and a checkpoint at every interval of theirs, and writes
// loss.csv. Ends earlier at options.stop_at, or when a signal asks (interrupt.h); then it has saved what there
// is. A checkpoint that cannot be written on the way costs a warning, the last one a weft::IoError. weft::Error
// when a parameter does not learn at the first step (check::first_step) or a gradient is not finite at a later
// one.
Ended train(Run& run, const std::u32string& text);
