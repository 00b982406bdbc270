// The workloads of the benchmark, each with the shapes and the whole training step of its PyTorch counterpart.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

struct Workload {
    std::string name;
    int repetitions, warm_up;  // defaults
    // Builds the workload and returns one step. A step returns the tokens generated per second, or 0.
    // Dropout is that of the attention weights, and of a GPT's other places.
    std::function<std::function<double()>(double dropout)> make;
    std::int64_t B = 0, T = 0;  // of the batches that it trains on, if it does
};

// toy, char, gpt2, attention, long, decode.
const std::vector<Workload>& workloads();

}  // namespace weft::bench
