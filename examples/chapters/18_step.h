// What chapters 18 and 19 measure, and how: a training step of a small GPT, and the fastest of some runs.
// B texts in a batch, T characters, C = d_model, H heads, L layers, V characters in the vocabulary.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "weft/weft.h"

using namespace weft;  // the programs are small, and read better so

constexpr std::int64_t B = 12, T = 64, C = 128, H = 4, L = 2, V = 65;

// The fastest of `runs` of each work, in milliseconds. They take turns, so a busy machine slows all of them.
inline std::vector<double> milliseconds(const std::vector<std::function<void()>>& works, int runs = 30) {
    std::vector<double> fastest(works.size(), INFINITY);
    for (int i = 0; i < runs; ++i)
        for (std::size_t w = 0; w < works.size(); ++w) {
            const auto start = std::chrono::steady_clock::now();
            works[w]();
            const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
            fastest[w] = std::min(fastest[w], taken.count());
        }
    return fastest;
}

struct Training {
    std::int64_t layers = L;
    Rng rng{1};
    lm::GPT model{{.vocab_size = V, .block_size = T, .num_layers = layers, .num_heads = H, .d_model = C}, rng};
    optim::AdamW optimizer{model, {.lr = 1e-3}};
    Tensor tokens = randint(0, V, {B, T + 1}, rng);

    Tensor loss() const {
        const Tensor logits = model(tokens.slice(1, 0, T));  // (B, T, V)
        return cross_entropy(logits, tokens.slice(1, 1, T + 1));
    }
    void step() {
        optimizer.zero_grad();
        loss().backward();
        optimizer.step();
    }
};
