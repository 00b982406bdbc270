// The workloads Weft is measured on, each with the shapes and the whole training step of its PyTorch twin.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

struct Workload {
    std::string name;
    int repetitions, warm_up;                     // when none are asked for
    std::function<std::function<void()>()> make;  // builds it, and returns one step
};

// toy, char, gpt2, attention, long.
const std::vector<Workload>& workloads();

}  // namespace weft::bench
