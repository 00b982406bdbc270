// The workloads Weft is measured on, each with the shapes and the whole training step of its PyTorch twin.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

struct Workload {
    std::string name;
    int repetitions, warm_up;  // when none are asked for
    // Builds it, and returns one step, which tells how many tokens a second it wrote, or 0 where it writes
    // none.
    std::function<std::function<double()>()> make;
};

// toy, char, gpt2, attention, long, decode.
const std::vector<Workload>& workloads();

}  // namespace weft::bench
