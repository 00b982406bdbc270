// The training loop: batches, evaluations, checkpoints, progress.
#pragma once

#include <string>

#include "run.h"

// Trains until options.steps, with an evaluation and a checkpoint at every interval, and writes loss.csv.
// Returns false when it was interrupted: then it has saved what there is. weft::Error when a gradient does not
// reach a parameter at the first step.
bool train(Run& run, const std::u32string& text);
