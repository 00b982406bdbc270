// Exercises of chapter 17: a head switched off, and scores that say what a head does.
//
//     make exercise N=17          tries what you wrote; make hint N=17 helps
//
// Replace each blank(). The tasks are numbered as on the page. B batch, H heads, T tokens, d_k a head's width.
#include "exercise.h"

// 1. Predict. An induction head reads a b c d a. To which position, counted from 0, does its last token attend?
double prediction_of_position() { return blank(); }

// 2. Predict. All scores of a causal head are 0, and it reads 4 tokens. The mean weight of a token on the one
// before it, of the three tokens that have one, to two decimals.
inline double previous_score_of_uniform() {
    const Tensor q = zeros({1, 4, 2}, float64);  // (H, T, d_k)
    const Tensor weights =
        scaled_dot_product_attention_with_weights(q, q, q, {.mask = Mask::causal()}).weights[0];  // (T, T)
    return (weights.at(1, 0) + weights.at(2, 1) + weights.at(3, 2)) / 3;
}
double prediction_of_uniform() { return blank(); }

// 3. Mend. heads (B, H, T, d_k), the results of all heads, with those of one head replaced by 0. Gradients
// reach the heads that are left. It is refused for most shapes, and for some it is silently wrong.
Tensor without_head(const Tensor& heads, std::int64_t head) {
    Tensor active = ones({heads.size(1)}, heads.dtype());  // (H,)
    active[head].fill_(0);
    return heads * active.reshape({heads.size(1), 1});
}

// 4. Write. The mean weight of a token on the one before it: weights (T, T), T ≥ 2, row i the query. The first
// token does not count.
double previous_score(const Tensor& weights) { return blank(); }

// 5. Write. The mean weight on what followed a token the last time that it occurred before. Positions whose id
// has not occurred before do not count; 0 where none counts. weights (T, T), ids T of them.
//     ids a b a: only position 2 counts, by its weight on position 1
double induction_score(const Tensor& weights, const std::vector<std::int64_t>& ids) { return blank(); }

// 6. Paper. A head reads x y x y with the weights
//     1
//     1/2  1/2
//     1/4  1/2  1/4
//     1/8  1/8  1/4  1/2
// Enter its previous-token score and its induction score.
std::vector<double> scores_on_paper() { return blank(); }
