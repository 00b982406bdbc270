// Exercises of chapter 16: the probabilities with which a token is drawn, the cache, and weights of few bits.
//
//     make exercise N=16          tries what you wrote; make hint N=16 helps
//
// Replace each blank(). The tasks are numbered as on the page. T tokens, V vocabulary.
#include <algorithm>
#include <bit>
#include <cmath>

#include "exercise.h"

// 1. Predict. The probability of the likeliest of these four tokens at a temperature of a million, to two
// decimals.
inline double probability_when_hot() { return max(softmax(tensor({8, 2, 1, -3}, float64) / 1e6, 0)).item(); }
double prediction_when_hot() { return blank(); }

// 2. Predict. At a temperature of 1 the likelier of two tokens has a probability of 0.8. And at 0.5, to two
// decimals?
inline double probability_when_cold() { return max(softmax(log(tensor({0.8, 0.2}, float64)) / 0.5, 0)).item(); }
double prediction_when_cold() { return blank(); }

// 3. Predict. A thousand halves are added, one after another, and each sum is rounded to bfloat16.
inline double sum_of_halves() {
    Tensor sum = zeros({}, bfloat16);
    for (int i = 0; i < 1000; ++i) sum = (sum + 0.5).to(bfloat16);
    return sum.item();
}
double prediction_of_halves() { return blank(); }

// 4. Mend. The n ids that a model writes after a prompt, the likeliest each time. The prompt goes through the
// model once, and each new id, except the last, once and alone. This one writes as if it had read nothing but
// the last token.
text::Ids continued(const lm::GPT& model, const text::Ids& prompt, std::int64_t n) {
    const NoGrad off;
    text::Ids written, unread = prompt;  // what the model has not read yet
    while (static_cast<std::int64_t>(written.size()) < n) {
        std::vector<nn::KeyValueCache> caches = model.make_caches();
        const auto count = static_cast<std::int64_t>(unread.size());
        const Tensor logits = model(from_vector(unread, {count}), caches);  // (T, V)
        written.push_back(static_cast<std::int64_t>(argmax(logits[count - 1], 0).item()));
        unread = {written.back()};
    }
    return written;
}

// 5. Mend. The weights w (n,), n a multiple of 32, rounded in blocks of 32: each is the nearest multiple of its
// block's scale, which is a seventh of the largest |w| in the block, so that 4 bits are enough. One large
// weight must not spoil the other blocks; in this one it does.
Tensor rounded_in_blocks(const Tensor& w) {
    const Tensor blocks = w.reshape({-1, 32});  // (n / 32, 32)
    const Tensor d = max(abs(blocks)) / 7;
    return (round(blocks / masked_fill(d, d == 0, 1)) * d).reshape(w.shape());
}

// 6. Write. The probabilities (V,) with which a token is drawn from logits (V,) at a temperature, if only the
// top_k likeliest may be drawn; all may where top_k is 0. Temperature 0 is greedy. No two logits are equal
// here, and the caller's logits must not change.
//     logits 1 3 2, temperature 1, top_k 2 → 0 0.731 0.269
Tensor sampling_probabilities(const Tensor& logits, double temperature, std::int64_t top_k) { return blank(); }

// 7. Write. Of probabilities (V,), the fewest tokens, the likeliest first, that have the sum top_p or more;
// their probabilities divided by their sum, and 0 for the others. No two are equal here.
//     0.1 0.5 0.15 0.25, top_p 0.7 → 0 0.667 0 0.333
Tensor nucleus(const Tensor& probabilities, double top_p) { return blank(); }

// 8. Write. The 16 bits of the bfloat16 that is nearest to x, of two that are equally near the even one, by
// whole numbers alone. x is finite and rounds to a finite number; std::bit_cast<std::uint32_t>(x) has its bits.
//     1 → 0x3f80        0.1 → 0x3dcd
std::uint16_t bfloat16_bits(float x) { return blank(); }

// 9. Write. A block of weights (1, 32) as it comes back from Q4_0 if the weight farthest from 0, of which there
// is one, is kept beside the block: that weight unchanged, and the others as if it were 0. The caller's weights
// must not change.
Tensor outlier_apart(const Tensor& w) { return blank(); }

// 10. Paper. A model continues a prompt of 28 tokens by 100 tokens, one at a time. Enter how many tokens go
// through the model in all without a cache, and how many with one.
std::vector<double> tokens_on_paper() { return blank(); }

// 11. Paper. A model has 10⁹ weights, and a processor reads 306 · 10⁹ bytes in a second. Enter the most tokens
// that it can write in a second with its weights in float32, in bfloat16, in Q8_0 and in Q4_0.
std::vector<double> speed_on_paper() { return blank(); }
