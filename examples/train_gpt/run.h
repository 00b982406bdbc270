// A training run: what a checkpoint holds, one step of training, one evaluation.
#pragma once

#include <weft/weft.h>

#include <functional>
#include <optional>

#include "options.h"
#include "text.h"

// The lowest loss on the held-out tenth, and the step before which it was measured.
struct Best {
    double loss = 0;
    std::int64_t step = 0;
};

// The model that the options and the vocabulary make.
weft::nn::GPTConfig config_of(const Options& options, const Vocabulary& vocabulary);

struct Run {
    Options options;
    Vocabulary vocabulary;
    weft::nn::GPT model;
    weft::optim::AdamW optimizer;
    std::int64_t step = 0;
    std::optional<Best> best;
    std::uint64_t text = 0;  // the fingerprint of what it learns from; 0 before it has learned

    Run(const Options& options, const Vocabulary& vocabulary);  // new, every value drawn from the seed

    // One step on a batch: its loss. after_backward() sees the gradients before they are clipped.
    // weft::ValueError, naming the parameter, when a gradient is not finite.
    double train(const Batch& batch, const std::function<void()>& after_backward = {});
    // The mean loss per character, without dropout; none when stop() became true on the way.
    std::optional<double> evaluate(const std::vector<Batch>& held_out, const std::function<bool()>& stop);
    double learning_rate() const;
};
