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

// How a workload is built: dropout is that of the attention weights, and of a GPT's other places; weights are
// in one of weight_formats(), and in float32 where they are trained.
struct Options {
    double dropout = 0;
    std::string weights = "float32";
};

// One step, which returns the tokens generated or read per second, or 0.
struct Step {
    std::function<double()> run;
    std::int64_t weight_bytes = 0;  // if it generates or reads
};

struct Workload {
    std::string name;
    int repetitions, warm_up;  // defaults
    std::function<Step(const Options&)> make;
    std::int64_t B = 0, T = 0;  // of the batches that it trains on, if it does
    // Builds what it trains, with a batch of its own size or another.
    std::function<Training(std::int64_t B, double dropout)> training = {};
};

// toy, char, gpt2, attention, long, decode, smol, prompt.
const std::vector<Workload>& workloads();

// float32, bfloat16, float16, Q8_0, Q4_0, Q4_1.
const std::vector<std::string>& weight_formats();

// Rounds the weights of float32 to one of these formats.
void store_weights(nn::Module& module, const std::string& format);

// The bytes of all parameters, tied ones once.
std::int64_t weight_bytes(const nn::Module& module);

// Milliseconds since then.
double ms_since(std::chrono::steady_clock::time_point start);

// The middle of these times; the mean of the two in the middle if their number is even; 0 if there is none.
double median(std::vector<double> times);

}  // namespace weft::bench
