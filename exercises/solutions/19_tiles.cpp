// Exercises of chapter 19: a sum that no number of threads can change, the tiles that a causal mask leaves, and
// two parts of attention combined.
//
//     make exercise N=19          tries what you wrote; make hint N=19 helps
//
// Our solutions. The tasks are numbered as on the page.
#include <cmath>

#include "exercise.h"

// 1. Predict. After some keys the largest score is 0 and the sum of exp(score − largest) is 10. The next tile
// has a single key, with the score ln 2. What is the sum then?
inline double sum_after_the_tile() {
    const double score = std::log(2), largest = 0, sum = 10, next = std::max(largest, score);
    return std::exp(largest - next) * sum + std::exp(score - next);
}
double prediction_of_sum() { return 6; }

// 2. Predict. 1 is added to 16777216 = 2²⁴ in float32. By how much does the sum grow?
inline double growth_in_float32() {
    const Tensor large = full({}, 16777216);
    return (large + 1 - large).item();
}
double prediction_of_growth() { return 0; }

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

// 4. Write. The scores of T queries with T keys are cut into tiles of `queries` by `keys`; the last row and the
// last column of tiles are smaller where these don't divide T. Under a causal mask query i sees the keys 0 to
// i. In how many tiles does some query see some key?
//     (16, 4, 4): 10
std::int64_t tiles_to_compute(std::int64_t T, std::int64_t queries, std::int64_t keys) {
    std::int64_t tiles = 0;
    for (std::int64_t from = 0; from < T; from += queries) {
        const std::int64_t visible = std::min(T, from + queries);  // to the last query of this row of tiles
        tiles += (visible + keys - 1) / keys;
    }
    return tiles;
}

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

// 6. Paper. Causal or not, in float32: enter the MiB of the scores of one head for 4096 tokens; the KiB of one
// tile of 128 queries by 256 keys; and the number of tokens at which the scores of a head of dimension 128 take
// exactly as many bytes as its q, k, v and result together.
std::vector<double> memory_on_paper() { return {64, 128, 512}; }
