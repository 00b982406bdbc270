// Exercise of chapter 14: a head switched off, and scores that say what a head does.
//
//     make exercise N=14
//
// Write each function in place of its blank. B batch, H heads, T tokens, d_k a head's width.
#include "exercise.h"

// heads (B, H, T, d_k), the results of all heads, with those of one head replaced by 0. The input stays as it
// is, and gradients reach the heads that are left: write it with operations, not in place.
Tensor without_head(const Tensor& heads, std::int64_t head) {
    Tensor active = ones({heads.size(1)}, heads.dtype());  // (H,)
    active[head].fill_(0);
    return heads * active.reshape({heads.size(1), 1, 1});  // (B, H, T, d_k) · (H, 1, 1)
}

// The mean weight of each token on the one before it: weights (T, T), T ≥ 2, row i the query. The first token
// has none before it and does not count.
//     {{1, 0}, {0.75, 0.25}} → 0.75
double previous_score(const Tensor& weights) {
    const std::int64_t T = weights.size(0);
    double total = 0;
    for (std::int64_t i = 1; i < T; ++i) total += weights.at({i, i - 1});
    return total / static_cast<double>(T - 1);
}

// The mean weight on what followed a token the last time. Of every place i whose id stood before i, take the
// last such place j < i: what followed it stands at j + 1, and weights[i, j + 1] counts. 0 where no id comes
// twice.
//     ids a b a: only i = 2 counts, with j = 0: weights[2, 1]
double induction_score(const Tensor& weights, const std::vector<std::int64_t>& ids) {
    double total = 0;
    int places = 0;
    for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
        std::int64_t j = i - 1;
        while (j >= 0 && ids[j] != ids[i]) --j;
        if (j < 0) continue;  // it has not stood before
        total += weights.at({i, j + 1});
        ++places;
    }
    return places == 0 ? 0 : total / places;
}
