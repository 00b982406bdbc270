// Exercises of chapter 15: counting a layer's work, a sum that no number of threads can change, and two tiles
// of attention combined.
//
//     make exercise N=15          tries what you wrote; make hint N=15 helps
//
// Our solutions. The tasks are numbered as on the page.
#include <cmath>

#include "exercise.h"

// 1. Predict. 1 is added to 16777216 = 2²⁴ in float32. By how much does the sum grow?
inline double growth_in_float32() {
    const Tensor large = full({}, 16777216);
    return (large + 1 - large).item();
}
double prediction_of_growth() { return 0; }

// 2. Predict. z = x + y for float32 tensors of n elements: n FLOPs. How many FLOPs for each byte that is read
// or written, to three decimals?
inline double intensity_of_addition() {
    const double n = 1000, flops = n, bytes = 4 * (n + n + n);
    return flops / bytes;
}
double prediction_of_addition() { return 0.083; }

// 3. Mend. The sum of values, shared out to threads; here a loop does the work of one thread after the other.
// The bits of the result must not depend on their number.
float sum_on_threads(const std::vector<float>& values, std::size_t threads) {
    const std::size_t block = 1000;
    std::vector<float> parts((values.size() + block - 1) / block);
    for (std::size_t t = 0; t < threads; ++t)
        for (std::size_t b = t; b < parts.size(); b += threads)
            for (std::size_t i = b * block; i < std::min(values.size(), (b + 1) * block); ++i)
                parts[b] += values[i];
    float total = 0;
    for (const float part : parts) total += part;
    return total;
}

// 4. Write. The FLOPs per byte of y = x Wᵀ, with x (M, K), W (N, K) and y (M, N) in float32, if x and W are
// read once and y is written once. A multiply-add is two FLOPs.
//     (768, 128) → 512: about 45
double intensity(double M, double K, double N) { return 2 * M * N * K / (4 * (M * K + N * K + M * N)); }

// What attention knows of one query after some of the keys: the largest score, the sum of exp(score − largest),
// and the sum of exp(score − largest) · value. Before the first key: −∞, 0 and 0.
struct Part {
    double largest = -INFINITY, sum = 0, weighted = 0;
};

// 5. Write. What it knows after the keys of both parts; either may be empty.
Part merge(const Part& a, const Part& b) {
    const double largest = std::max(a.largest, b.largest);
    if (std::isinf(largest)) return {};  // no key yet
    const double of_a = std::exp(a.largest - largest), of_b = std::exp(b.largest - largest);
    return {largest, of_a * a.sum + of_b * b.sum, of_a * a.weighted + of_b * b.weighted};
}

// 6. Paper. A machine computes 100 GFLOP/s and moves 20 GB/s (both 10⁹). Enter the FLOPs per byte that a
// program needs so that memory does not limit it; then the minimum time in milliseconds, to two decimals, of
// reading a matrix (4096, 4096) in float32, and that of computing its product with a single row.
std::vector<double> roof_on_paper() { return {5, 3.36, 0.34}; }
