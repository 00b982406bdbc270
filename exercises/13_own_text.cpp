// Exercise of chapter 13: batches of a text, perplexity, and the probabilities that a token is drawn with.
//
//     make exercise N=13
//
// Write each function in place of its blank. B pieces, T tokens in each, V vocabulary.
#include <cmath>

#include "exercise.h"

// The pieces ids[start … start + T − 1] for each of the B starts, and their targets: the same pieces one token
// further on. Both int64 (B, T); ids is (N,). ValueError where a target would lie beyond the last id:
// throw ValueError("…") with the start that does not fit in its message.
//     ids 5 6 7 8 9, starts {0, 2}, T = 2 → inputs {{5, 6}, {7, 8}}, targets {{6, 7}, {8, 9}}
struct Batch {
    Tensor inputs, targets;
};
Batch make_batch(const Tensor& ids, const std::vector<std::int64_t>& starts, std::int64_t T) {
    return blank("slices of ids, stacked; the targets begin one further");
}

// e to the cross-entropy of logits (B, T, V) with the targets (B, T).
//     logits all 0 → V
double perplexity(const Tensor& logits, const Tensor& targets) {
    return blank("e to the mean of -ln p of the targets");
}

// The probabilities (V,) with which a token is drawn from logits (V,): of the top_k largest logits only (all of
// them where top_k is 0), softmax(logits / temperature); with temperature 0 the probability 1 for the largest.
// No two logits are equal here. Weft sorts nothing: which is the k-th largest you find by argmax and fill_,
// again and again, or by std::sort of logits.to(float64).to_vector<double>().
//     logits 1 3 2, temperature 1, top_k 2 → 0 0.731 0.269
Tensor sampling_probabilities(const Tensor& logits, double temperature, std::int64_t top_k) {
    return blank(
        "-inf where a logit is not among the k largest, then softmax of what is left over the temperature");
}
