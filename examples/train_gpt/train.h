// The training loop: batches, evaluations, checkpoints, progress.
#pragma once

#include <string>

#include "run.h"

enum class Ended { finished, stopped, interrupted };

// Trains until options.steps with an evaluation and a checkpoint at every interval of theirs, and writes
// loss.csv. Ends earlier at options.stop_at, or when a signal asks (interrupt.h); then it has saved what there
// is. A checkpoint that cannot be written on the way costs a warning, the last one a weft::IoError. weft::Error
// when a gradient does not reach a parameter at the first step or is not finite at a later one.
Ended train(Run& run, const std::u32string& text);
