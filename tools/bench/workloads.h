// The workloads of the benchmark, each with the shapes and the whole training step of its PyTorch counterpart.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/weft.h"

namespace weft::bench {

// A model that learns, its optimiser, and its batch: inputs and targets (B, T).
struct Training {
    std::shared_ptr<lm::GPT> model;
    std::shared_ptr<optim::AdamW> optimizer;
    Tensor x, y;
    // What follows backward: clipping to norm 1, AdamW, zero_grad.
    void update() const;
};

struct Workload {
    std::string name;
    int repetitions, warm_up;  // defaults
    // Builds the workload and returns one step. A step returns the tokens generated per second, or 0.
    // Dropout is that of the attention weights, and of a GPT's other places.
    std::function<std::function<double()>(double dropout)> make;
    std::int64_t B = 0, T = 0;  // of the batches that it trains on, if it does
    // Builds what it trains, with a batch of its own size or another.
    std::function<Training(std::int64_t B, double dropout)> training = {};
};

// toy, char, gpt2, attention, long, decode.
const std::vector<Workload>& workloads();

// Milliseconds since then.
double ms_since(std::chrono::steady_clock::time_point start);

// The middle of these times; the mean of the two in the middle if their number is even; 0 if there is none.
double median(std::vector<double> times);

}  // namespace weft::bench
