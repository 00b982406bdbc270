// Exercise of chapter 15: counting a layer's work, a sum that no number of threads can change, and two tiles
// made one.
//
//     make exercise N=15
//
// Write each function in place of its blank.
#include <cmath>

#include "exercise.h"

// The FLOPs per byte of y = x Wᵀ, with x (M, K), W (N, K) and y (M, N) in float32, of 4 bytes each. A product
// takes 2 · M · N · K FLOPs; x and W are read once, y is written once.
//     (768, 128) → 512: about 45
double intensity(double M, double K, double N) { return 2 * M * N * K / (4 * (M * K + N * K + M * N)); }

// The sum of `values` in blocks of `block`: the values of a block are added in their order, beginning at 0;
// then the blocks' sums, in the order of the blocks. Block b is worked out by thread b % threads, and by that
// thread only. Return the total. The threads need not be real ones: a loop over threads, and in it over the
// blocks of each.
float sum_in_blocks(const std::vector<float>& values, std::size_t block, std::size_t threads) {
    std::vector<float> sums((values.size() + block - 1) / block);
    for (std::size_t t = 0; t < threads; ++t)
        for (std::size_t b = t; b < sums.size(); b += threads)
            for (std::size_t i = b * block; i < std::min(values.size(), (b + 1) * block); ++i)
                sums[b] += values[i];
    float total = 0;
    for (const float sum : sums) total += sum;
    return total;
}

// What attention knows of one query after some of the keys: the largest score, the sum of exp(score − largest),
// and the sum of exp(score − largest) · value. Before the first key: −∞, 0 and 0.
struct Part {
    double largest = -INFINITY, sum = 0, weighted = 0;
};

// What it knows after the keys of both parts.
Part merge(const Part& a, const Part& b) {
    const double largest = std::max(a.largest, b.largest);
    if (std::isinf(largest)) return {};  // no key yet
    const double of_a = std::exp(a.largest - largest), of_b = std::exp(b.largest - largest);
    return {largest, of_a * a.sum + of_b * b.sum, of_a * a.weighted + of_b * b.weighted};
}
