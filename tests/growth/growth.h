// What is measured: how many instructions a call takes for an input of size n, and for one of size 4n.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/weft.h"

namespace growth {

using namespace weft;

struct Case {
    const char* name;
    std::int64_t n;
    // Makes what has size n, and returns the call that is counted.
    std::function<std::function<void()>(std::int64_t n)> prepare;
};

std::vector<Case> files();     // tensors, members, lines and bytes of files
std::vector<Case> texts();     // characters, tokens, sequences
std::vector<Case> graphs();    // nodes, edges, hooks
std::vector<Case> tensors();   // elements and lists of tensors
std::vector<Case> modules();   // parameters and layers
std::vector<Case> pictures();  // rows, points and steps of what is drawn and reported

// A path in a folder that is removed at the end.
std::filesystem::path scratch(const std::string& name);

// n tensors of two elements, named like the parameters of a deep model.
inline nn::NamedTensors named(std::int64_t n) {
    nn::NamedTensors result;
    for (std::int64_t i = 0; i < n; ++i)
        result.emplace_back("blocks." + std::to_string(i) + ".weight", ones({2}));
    return result;
}

// A module with n parameters.
struct Many : nn::Module {
    explicit Many(std::int64_t n) : Module("Many") {
        for (std::int64_t i = 0; i < n; ++i)
            all.push_back(register_parameter("p" + std::to_string(i), ones({2})));
    }
    std::vector<Tensor> all;
};

// n words, of which some come again.
inline std::string words(std::int64_t n) {
    Rng rng(1);
    std::string text;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t length = rng.randint(2, 7); length > 0; --length)
            text += static_cast<char>('a' + rng.randint(0, 12));
        text += i % 12 == 11 ? '\n' : ' ';
    }
    return text;
}

}  // namespace growth
