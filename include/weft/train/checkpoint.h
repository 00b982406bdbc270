// A run in a file, and back.
#pragma once

#include "run.h"

// Writes model.safetensors in the run's folder: weights under their own names, the optimiser's state under
// "optimizer.", and as metadata the settings (and with them the schedule), the vocabulary, the step, the best
// loss and the state of every generator. There is the old file or the new one, whatever happens. A run that
// goes on from it has the same bits as one that never stopped.
void save(const Run& run);
// Writes best.safetensors: the same without the optimiser's state, to sample from.
void save_best(const Run& run);

// Before a new run saves for the first time: the checkpoint of an earlier one in its folder becomes
// previous.safetensors, for the evening that --resume was forgotten, and best.safetensors goes.
void set_aside(const Run& run);

// The run that was saved in options.out, with its settings where the command line gave none; with options.best
// the weights of best.safetensors. Weights that are not finite are named on standard error. weft::IoError,
// naming the file and everything that does not fit, where it is no checkpoint; UsageError, listing every
// difference, where the command line gave another model.
Run load(const Options& options);
