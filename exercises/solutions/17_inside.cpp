// Exercises of chapter 17: a head switched off, and scores that say what a head does.
//
//     make exercise N=17          tries what you wrote; make hint N=17 helps
//
// Our solutions. The tasks are numbered as on the page. B batch, H heads, T tokens, d_k a head's width.
#include "exercise.h"

// 1. Predict. An induction head reads a b c d a. To which position, counted from 0, does its last token attend?
double prediction_of_position() { return 1; }

// 2. Predict. All scores of a causal head are 0, and it reads 4 tokens. The mean weight of a token on the one
// before it, of the three tokens that have one, to two decimals.
inline double previous_score_of_uniform() {
    const Tensor q = zeros({1, 4, 2}, float64);  // (H, T, d_k)
    const Tensor weights =
        scaled_dot_product_attention_with_weights(q, q, q, {.mask = Mask::causal()}).weights[0];  // (T, T)
    return (weights.at(1, 0) + weights.at(2, 1) + weights.at(3, 2)) / 3;
}
double prediction_of_uniform() { return 0.36; }

// 3. Mend. heads (B, H, T, d_k), the results of all heads, with those of one head replaced by 0. Gradients
// reach the heads that are left. It is refused for most shapes, and for some it is silently wrong.
Tensor without_head(const Tensor& heads, std::int64_t head) {
    Tensor active = ones({heads.size(1)}, heads.dtype());  // (H,)
    active[head].fill_(0);
    return heads * active.reshape({heads.size(1), 1, 1});  // (B, H, T, d_k) · (H, 1, 1)
}

// 4. Write. The mean weight of a token on the one before it: weights (T, T), T ≥ 2, row i the query. The first
// token does not count.
double previous_score(const Tensor& weights) {
    const std::int64_t T = weights.size(0);
    double total = 0;
    for (std::int64_t i = 1; i < T; ++i) total += weights.at({i, i - 1});
    return total / static_cast<double>(T - 1);
}

// 5. Write. The mean weight on what followed a token the last time that it occurred before. Positions whose id
// has not occurred before do not count; 0 where none counts. weights (T, T), ids T of them.
//     ids a b a: only position 2 counts, by its weight on position 1
double induction_score(const Tensor& weights, const std::vector<std::int64_t>& ids) {
    double total = 0;
    int positions = 0;
    for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
        std::int64_t j = i - 1;
        while (j >= 0 && ids[j] != ids[i]) --j;
        if (j < 0) continue;  // it has not occurred before
        total += weights.at({i, j + 1});
        ++positions;
    }
    return positions == 0 ? 0 : total / positions;
}

// 6. Paper. A head reads x y x y with the weights
//     1
//     1/2  1/2
//     1/4  1/2  1/4
//     1/8  1/8  1/4  1/2
// Enter its previous-token score and its induction score.
std::vector<double> scores_on_paper() { return {5.0 / 12, 3.0 / 8}; }
