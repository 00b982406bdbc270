// A training run: what a checkpoint holds, one step of training, one evaluation.
#pragma once

#include <weft/weft.h>

#include "options.h"
#include "text.h"

struct Run {
    Options options;
    Vocabulary vocabulary;
    weft::nn::GPT model;
    weft::optim::AdamW optimizer;
    std::int64_t step = 0;

    Run(const Options& options, const Vocabulary& vocabulary);  // new, every value drawn from the seed

    // One step on a batch: its loss. weft::ValueError, naming the parameter, when a gradient is not finite.
    double train(const Batch& batch);
    // The mean loss per character, without dropout.
    double evaluate(const std::vector<Batch>& held_out);
    double learning_rate() const;
};

// model.safetensors in the run's folder: weights under their own names, the optimiser's state under
// "optimizer.", and as metadata the settings, the vocabulary and the state of every generator. A run that goes
// on from it has the same bits as one that never stopped.
void save(const Run& run);
// The run that was saved in options.out, with its settings where the command line gave none.
Run load(const Options& options);
