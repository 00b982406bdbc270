// Exercises of chapter 18: counting bytes and arithmetic, a stopwatch, and the lines in which memory travels.
//
//     make exercise N=18          tries what you wrote; make hint N=18 helps
//
// Our solutions. The tasks are numbered as on the page.
#include <cmath>
#include <set>

#include "exercise.h"

// 1. Predict. z = x + y for float32 tensors of n elements: n FLOPs. How many FLOPs for each byte that is read
// or written, to three decimals?
inline double intensity_of_addition() {
    const double n = 1000, flops = n, bytes = 4 * (n + n + n);
    return flops / bytes;
}
double prediction_of_addition() { return 0.083; }

// 2. Predict. y = (x + 1) * x - x, all of one shape: three operations, each of which reads and writes whole
// arrays. How many times as many bytes do they move as one loop that does all three?
inline double bytes_saved_by_fusing() {
    const Tensor x = ones({1000}).requires_grad_();
    double arrays = 0;
    for (const GraphNode& node : graph_nodes((x + 1) * x - x))
        if (node.operation != "leaf") arrays += static_cast<double>(node.inputs.size()) + 1;
    return arrays / 2;
}
double prediction_of_fusing() { return 4; }

// 3. Mend. The shortest of `runs` runs of work, by the clock, whose unit is that of the result.
double fastest(const std::function<void()>& work, const std::function<double()>& clock, int runs) {
    double least = INFINITY;
    for (int i = 0; i < runs; ++i) {
        const double start = clock();
        work();
        least = std::min(least, clock() - start);
    }
    return least;
}

// 4. Write. The FLOPs per byte of y = x Wᵀ, with x (M, K), W (N, K) and y (M, N) in float32, if x and W are
// read once and y is written once. A multiply-add is two FLOPs.
//     (768, 128) → 512: about 45
double intensity(double M, double K, double N) { return 2 * M * N * K / (4 * (M * K + N * K + M * N)); }

// 5. Write. The number of cache lines that hold numbers of x, a float32 tensor of two axes with any strides. A
// line is 64 bytes, and the first number of x is the first of a line. No number lies before it.
//     ones({8, 16}): 8      ones({8, 16}).slice(1, 0, 1): 8
std::int64_t lines_read(const Tensor& x) {
    std::set<std::int64_t> lines;
    for (std::int64_t i = 0; i < x.size(0); ++i)
        for (std::int64_t j = 0; j < x.size(1); ++j)
            lines.insert((i * x.strides()[0] + j * x.strides()[1]) / 16);  // 16 numbers of 4 bytes
    return static_cast<std::int64_t>(lines.size());
}

// 6. Paper. A machine computes 100 GFLOP/s and moves 20 GB/s (both 10⁹). Enter the FLOPs per byte that a
// program needs so that memory does not limit it; then the minimum time in milliseconds, to two decimals, of
// reading a matrix (4096, 4096) in float32, and that of computing its product with a single row.
std::vector<double> roof_on_paper() { return {5, 3.36, 0.34}; }
