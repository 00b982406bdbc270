// Exercises of chapter 13: batches of a text, perplexity, and the probabilities with which a token is drawn.
//
//     make exercise N=13          tries what you wrote; make hint N=13 helps
//
// Our solutions. The tasks are numbered as on the page. B pieces, T tokens in each, V vocabulary.
#include <cmath>

#include "exercise.h"

// 1. Predict. A text of 1000 characters is cut at random into pieces of T = 64 and their targets. At how many
// different positions can a piece start?
inline double possible_starts() {
    const std::int64_t N = 1000, T = 64;
    std::int64_t starts = 0;
    for (std::int64_t start = 0; start < N; ++start)
        if (start + T < N) ++starts;  // start + T is the last target
    return static_cast<double>(starts);
}
double prediction_of_starts() { return 936; }

// 2. Predict. The probability of the likeliest of these four tokens at a temperature of a million, to two
// decimals.
inline double probability_when_hot() { return max(softmax(tensor({8, 2, 1, -3}, float64) / 1e6, 0)).item(); }
double prediction_when_hot() { return 0.25; }

struct Batch {
    Tensor inputs, targets;  // int64 (B, T)
};

// 3. Mend. The pieces of T ids that begin at the starts, and for each id of a piece the one to be predicted
// there. ValueError, naming the start, where the text ends too early. A model that is trained with it soon has
// a loss of 0.04, and writes the same character for ever.
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

struct Predictions {
    Tensor logits, targets;  // (B, T, V), (B, T)
};

// 4. Write. The perplexity of a model on a long text, whose predictions come in batches of different sizes:
// that of the text as a whole, not a mean of the batches' perplexities.
double perplexity(const std::vector<Predictions>& batches) {
    double total = 0;
    std::int64_t tokens = 0;
    for (const auto& [logits, targets] : batches) {
        total += cross_entropy(logits, targets).item() * static_cast<double>(targets.numel());
        tokens += targets.numel();
    }
    return std::exp(total / static_cast<double>(tokens));
}

// 5. Write. The probabilities (V,) with which a token is drawn from logits (V,) at a temperature, if only the
// top_k likeliest may be drawn; all may where top_k is 0. Temperature 0 is greedy. No two logits are equal
// here, and the caller's logits must not change.
//     logits 1 3 2, temperature 1, top_k 2 → 0 0.731 0.269
Tensor sampling_probabilities(const Tensor& logits, double temperature, std::int64_t top_k) {
    const std::int64_t V = logits.numel();
    const std::int64_t k = temperature == 0 ? 1 : top_k == 0 ? V : std::min(top_k, V);
    const double smallest = topk(logits, k).values.at({k - 1});
    const Tensor kept = masked_fill(logits, logits < smallest, -INFINITY);  // (V,)
    return softmax(temperature == 0 ? kept : kept / temperature, 0);
}

// 6. Write. Of probabilities (V,), the fewest tokens, the likeliest first, that have the sum top_p or more;
// their probabilities divided by their sum, and 0 for the others. No two are equal here.
//     0.1 0.5 0.15 0.25, top_p 0.7 → 0 0.667 0 0.333
Tensor nucleus(const Tensor& probabilities, double top_p) {
    const Tensor sorted = sort(probabilities, 0, true).values;  // (V,), the likeliest first
    double total = 0;
    std::int64_t last = 0;
    for (; last < sorted.numel(); ++last)
        if ((total += sorted.at({last})) >= top_p) break;
    const double smallest = sorted.at({std::min(last, sorted.numel() - 1)});
    const Tensor kept = masked_fill(probabilities, probabilities < smallest, 0);  // (V,)
    return kept / sum(kept);
}

// 7. Paper. A model continues a prompt of 28 tokens by 100 tokens, one at a time. Enter how many tokens go
// through the model in all without a cache, and how many with one.
std::vector<double> tokens_on_paper() { return {7750, 127}; }
