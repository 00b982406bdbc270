// Exercises of chapter 11: masks. In all of them true means blocked.
//
//     make exercise N=11          tries what you wrote; make hint N=11 helps
//
// Replace each blank(). The tasks are numbered as on the page. B samples, T queries, S keys.
#include <cmath>

#include "exercise.h"

// 1. Predict. How many of the 25 pairs of query and key does the causal mask of 5 tokens block?
inline double blocked_pairs() { return sum(Mask::causal().materialize(1, 1, 5, 5)).item(); }
double prediction_of_pairs() { return blank(); }

// 2. Predict. All three keys of a query are blocked. What do its weights sum to?
inline double sum_of_masked_row() {
    const Tensor q = ones({1, 2}), k = ones({3, 2});
    const Mask all = Mask::blocked(ones({1, 3}, boolean));
    return sum(scaled_dot_product_attention_with_weights(q, k, k, {.mask = all}).weights).item();
}
double prediction_of_masked_row() { return blank(); }

// 3. Mend. The weights of causal attention, from scores (T, T). No weight after the diagonal is other than 0.
Tensor causal_weights(const Tensor& scores) {
    const std::int64_t T = scores.size(-1);
    const Tensor future = triu(ones({T, T}), 1) == 1;  // (T, T)
    return masked_fill(softmax(scores, -1), future, 0);
}

// 4. Write. The causal mask of T queries that are the last of S ≥ T tokens, whose keys are all there:
// bool (T, S). The last query may attend to every key. Not by Mask.
Tensor causal_mask(std::int64_t T, std::int64_t S) { return blank(); }

// 5. Write. The mask of a padded batch of sentences, which are read causally: bool (B, 1, T, T), B =
// lengths.size(). Sample b has lengths[b] tokens; the keys after them are padding. Not by Mask.
Tensor padded_causal(const std::vector<std::int64_t>& lengths, std::int64_t T) { return blank(); }

// 6. Write. Softmax over the last axis and over the keys that are not blocked: scores floating (…, S), blocked
// bool that broadcasts to them → (…, S). A fully masked row gives zeros, and gradients of 0. By exp, max, sum,
// masked_fill and arithmetic only.
Tensor safe_softmax(const Tensor& scores, const Tensor& blocked) { return blank(); }

// 7. Write. The whole of causal attention, from memory: X (B, T, D) and four weights (D, D), which multiply
// from the right, D = num_heads · d_head. Returns the output (B, T, D) and the weights (B, H, T, T), in which a
// blocked key has exactly 0. nn::split_heads and nn::merge_heads are allowed, the library's attention is not.
AttentionResult multi_head_causal_attention(const Tensor& X, const Tensor& W_Q, const Tensor& W_K,
                                            const Tensor& W_V, const Tensor& W_O, std::int64_t num_heads) {
    return blank();
}

// 8. Paper. Four tokens with the values 4, 8, 0 and 100, and all scores are equal. Enter the four outputs of
// causal attention, and then the output of the first token if the mask is applied after softmax.
std::vector<double> outputs_on_paper() { return blank(); }
