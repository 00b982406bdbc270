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
    std::vector<Tensor> inputs, targets;
    for (const std::int64_t start : starts) {
        if (start + T + 1 > ids.numel())
            throw ValueError("make_batch: the targets of start " + std::to_string(start) +
                             " end beyond the text");
        inputs.push_back(ids.slice(0, start, start + T));           // (T,)
        targets.push_back(ids.slice(0, start + 1, start + T + 1));  // (T,)
    }
    return {stack(inputs), stack(targets)};
}

// e to the cross-entropy of logits (B, T, V) with the targets (B, T).
//     logits all 0 → V
double perplexity(const Tensor& logits, const Tensor& targets) {
    return std::exp(cross_entropy(logits, targets).item());
}

// The probabilities (V,) with which a token is drawn from logits (V,): of the top_k largest logits only (all of
// them where top_k is 0), softmax(logits / temperature); with temperature 0 the probability 1 for the largest.
// No two logits are equal here. Weft sorts nothing: which is the k-th largest you find by argmax and fill_,
// again and again, or by std::sort of logits.to(float64).to_vector<double>().
//     logits 1 3 2, temperature 1, top_k 2 → 0 0.731 0.269
Tensor sampling_probabilities(const Tensor& logits, double temperature, std::int64_t top_k) {
    const std::int64_t V = logits.numel();
    const std::int64_t k = temperature == 0 ? 1 : top_k == 0 ? V : std::min(top_k, V);
    Tensor left = logits.clone();  // (V,), from which the largest are taken one by one
    double smallest = 0;           // of the k largest
    for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t at = static_cast<std::int64_t>(argmax(left, 0).item());
        smallest = left.at({at});
        left[at].fill_(-INFINITY);
    }
    const Tensor kept = masked_fill(logits, logits < smallest, -INFINITY);  // (V,)
    return softmax(temperature == 0 ? kept : kept / temperature, 0);
}
