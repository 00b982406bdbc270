// Exercise of chapter 14: a head switched off, and scores that say what a head does.
//
//     make exercise N=14
//
// Write each function in place of its blank. B batch, H heads, T tokens, d_k a head's width.
#include "exercise.h"

// heads (B, H, T, d_k), the results of all heads, with those of one head replaced by 0. The input stays as it
// is, and gradients reach the heads that are left: write it with operations, not in place.
Tensor without_head(const Tensor& heads, std::int64_t head) {
    return blank("times a tensor that is 0 for this head and 1 for the others, with a shape that broadcasts");
}

// The mean weight of each token on the one before it: weights (T, T), T ≥ 2, row i the query. The first token
// has none before it and does not count.
//     {{1, 0}, {0.75, 0.25}} → 0.75
double previous_score(const Tensor& weights) { return blank("the mean of weights[i, i - 1]"); }

// The mean weight on what followed a token the last time. Of every place i whose id stood before i, take the
// last such place j < i: what followed it stands at j + 1, and weights[i, j + 1] counts. 0 where no id comes
// twice.
//     ids a b a: only i = 2 counts, with j = 0: weights[2, 1]
double induction_score(const Tensor& weights, const std::vector<std::int64_t>& ids) {
    return blank("for each place, the last earlier place of the same id; the mean weight one place after it");
}
