// The tensors of a GPT's state_dict, under its names and GPT-2's.
#pragma once

#include <string>
#include <vector>

#include "weft/models/gpt.h"

namespace weft::nn {

struct GPTEntry {
    std::string weft_name, gpt2_name;
    Shape shape;              // in GPT-2
    bool transposed = false;  // here
};

// All but the head, which is tied.
std::vector<GPTEntry> gpt_entries(const GPTConfig& config);

}  // namespace weft::nn
