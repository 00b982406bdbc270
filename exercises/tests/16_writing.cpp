#include "exercise.h"
#include EXERCISE

namespace {

std::string shown(double value) {
    char text[16];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

void expect_probabilities(const Tensor& logits, double temperature, std::int64_t top_k, const Tensor& want) {
    const std::string what = "sampling_probabilities(logits, temperature " + shown(temperature) + ", top_k " +
                             std::to_string(top_k) + ")";
    const Tensor before = logits.clone();
    const Tensor got = sampling_probabilities(logits, temperature, top_k);
    expect_equal(what, got, want, 1e-6);
    expect_equal("what the call leaves in the caller's logits", logits, before);
}

// What a greedy model sends through itself for n new tokens after a prompt.
double tokens_through(std::int64_t prompt, std::int64_t n, bool cache) {
    double total = 0;
    for (std::int64_t i = 0; i < n; ++i) total += static_cast<double>(cache && i > 0 ? 1 : prompt + i);
    return total;
}

std::string listed(const text::Ids& ids) {
    std::string said;
    for (const std::int64_t id : ids) said += (said.empty() ? "" : " ") + std::to_string(id);
    return said;
}

// The bfloat16 nearest to x, found among all.
std::uint16_t nearest_bfloat16(float x) {
    std::uint16_t nearest = 0;
    double smallest = INFINITY;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto value = static_cast<double>(std::bit_cast<float>(bits << 16));
        const double error = std::abs(value - static_cast<double>(x));
        const bool is_better = error < smallest || (error == smallest && bits % 2 == 0);
        if (std::isfinite(value) && std::signbit(value) == std::signbit(x) && is_better)
            nearest = static_cast<std::uint16_t>(bits), smallest = error;
    }
    return nearest;
}

std::string hexadecimal(std::uint16_t bits) {
    char said[8];
    std::snprintf(said, sizeof said, "0x%04x", bits);
    return said;
}

// 64 weights near 0, in two blocks; the first has one of 6 beside them.
Tensor with_an_outlier() {
    Rng rng(2);
    const Tensor w = randn({64}, rng) * 0.1;
    w.slice(0, 5, 6).fill_(6);
    return w;
}

// A GPT with large weights, so that it depends on all that it has read.
lm::GPT lively_model() {
    Rng rng(1);
    lm::GPT model({.vocab_size = 9, .block_size = 16, .num_layers = 2, .num_heads = 2, .d_model = 16}, rng);
    model.to(float64);
    const NoGrad off;
    for (Tensor p : model.parameters())
        if (p.dim() == 2) p.copy_(randn(p.shape(), rng, float64) * 0.3);  // not the norms, nor the biases
    return model;
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "16. Letting a model write");
    exercise.predict("prediction_when_hot", prediction_when_hot, probability_when_hot,
                     "Divided by a million all logits are nearly 0, and equal logits give equal probabilities.",
                     {"What are the logits after the division?"}, 0.005);
    exercise.predict(
        "prediction_when_cold", prediction_when_cold, probability_when_cold,
        "Dividing logits by 0.5 doubles them, which squares what e makes of them: 0.8² / (0.8² + 0.2²).",
        {"The logits are ln 0.8 and ln 0.2, up to a constant. What does softmax make of twice that?"}, 0.005);
    exercise.predict(
        "prediction_of_halves", prediction_of_halves, sum_of_halves,
        "From 128 on the numbers of bfloat16 are 1 apart, so 128.5 is a tie, and of 128 and 129 the even one "
        "is 128.",
        {"bfloat16 has 8 significant bits, the leading 1 included. From where on are its numbers 1 apart?"});
    exercise.mend(
        "continued", "n = 2) is 8 8, and without a cache 8 7",
        {"What does the model know of the prompt when it reads the first new id?",
         "How long does a cache live here?"},
        [] {
            const lm::GPT model = lively_model();
            for (const text::Ids& prompt : {text::Ids{3, 1, 4, 1, 5}, {2, 7, 1}, {8, 2, 8, 1}})
                for (const std::int64_t n : {1, 2, 8}) {
                    const text::Ids want =
                        lm::generate(model, prompt,
                                     {.max_new_tokens = n, .sampling = {.temperature = 0}, .use_cache = false});
                    const Trace trace;
                    const text::Ids got = continued(model, prompt, n);
                    double tokens = 0;
                    for (const auto& [name, tensor] : trace.entries())
                        if (name == "embedded") tokens += static_cast<double>(tensor.size(-2));
                    const std::string what = "continued(" + listed(prompt) + ", n = " + std::to_string(n) + ")";
                    expect(got == want, what + " is " + listed(got) + ", and without a cache " + listed(want));
                    expect_equal("the tokens that go through the model in " + what, tokens,
                                 static_cast<double>(prompt.size()) + static_cast<double>(n) - 1);
                }
        });
    exercise.mend(
        "rounded_in_blocks", "the block without an outlier",
        {"What is the shape of d, and what should it be?",
         "max(x, axis, keepdim).values has a maximum for each block, and an axis of size 1 to broadcast."},
        [] {
            const Tensor w = with_an_outlier(), before = w.clone();
            const auto want = [&w](std::int64_t from, double largest) {
                const double d = largest / 7;
                const Tensor block = w.slice(0, from, from + 32).to(float64);
                return (round(block / d) * d).to(float32);
            };
            const Tensor got = rounded_in_blocks(w);
            expect(got.shape() == w.shape(), "the result has the shape " + got.shape().str());
            expect_equal("the block with an outlier", got.slice(0, 0, 32), want(0, 6), 1e-5);
            const double largest = max(abs(w.slice(0, 32, 64))).item();
            expect_equal("the block without an outlier", got.slice(0, 32, 64), want(32, largest), 1e-5);
            expect_equal("a block of zeros", rounded_in_blocks(zeros({32})), zeros({32}));
            expect_equal("what the call leaves in the caller's weights", w, before);
        });
    exercise.write("sampling_probabilities",
                   {"Three steps: leave out, divide, softmax. What must happen at temperature 0?",
                    "A logit of -∞ gets the probability 0. Temperature 0 must not divide: it is top_k = 1.",
                    "topk(logits, k).values.at({k - 1}) is the k-th largest; masked_fill(logits, logits < it, "
                    "-INFINITY). k must not be above V."},
                   [] {
                       const Tensor logits = tensor({1, 3, 2}, float64);
                       expect_probabilities(logits, 1, 0, softmax(logits, 0));
                       expect_probabilities(logits, 0.5, 0, softmax(logits * 2, 0));
                       expect_probabilities(logits, 1, 2, tensor({0, 0.7310585786, 0.2689414214}, float64));
                       expect_probabilities(logits, 2, 2, softmax(tensor({-INFINITY, 1.5, 1}, float64), 0));
                       expect_probabilities(logits, 0, 0, tensor({0, 1, 0}, float64));
                       expect_probabilities(logits, 0, 2, tensor({0, 1, 0}, float64));
                       expect_probabilities(logits, 1, 9, softmax(logits, 0));
                       expect_probabilities(tensor({-5, -7}, float64), 1, 1, tensor({1, 0}, float64));
                   });
    exercise.write("nucleus",
                   {"Sort first. When is the sum large enough?",
                    "The token that lifts the sum to top_p or above is still among those that stay.",
                    "sort(probabilities, 0, true).values begins with the likeliest. Find the probability at "
                    "which the sum reaches top_p; masked_fill what is below it with 0, and divide by the sum."},
                   [] {
                       const Tensor p = tensor({0.1, 0.5, 0.15, 0.25}, float64);
                       const auto of = [&](double top_p) { return nucleus(p, top_p); };
                       expect_equal("nucleus of (0.1, 0.5, 0.15, 0.25) with top_p = 0.7", of(0.7),
                                    tensor({0.0, 2.0 / 3, 0.0, 1.0 / 3}, float64));
                       expect_equal("nucleus with top_p = 0.3, which the likeliest alone has,", of(0.3),
                                    tensor({0, 1, 0, 0}, float64));
                       expect_equal("nucleus with top_p = 0.8", of(0.8),
                                    tensor({0.0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9}, float64));
                       expect_equal("nucleus with top_p = 1", of(1), p);
                   });
    exercise.write(
        "bfloat16_bits",
        {"The bits that stay are the upper 16. When must they be one more?",
         "They are one more if the lower 16 bits are above 0x8000, or equal to it and bit 16 is 1.",
         "Add 0x7fff and bit 16 to all 32 bits, and shift: the carry does the rest, into the exponent "
         "too."},
        [] {
            for (const float x : {1.0F, 0.1F, -1 / 3.0F, 1 + 0x1p-8F, 1 + 3 * 0x1p-8F, -1 - 0x1p-8F,
                                  1 + 0x1p-8F + 0x1p-23F, 1.99999F, 65504.0F, -1e9F, 1e-40F, 0.0F}) {
                const std::uint16_t got = bfloat16_bits(x), want = nearest_bfloat16(x);
                char number[32];
                std::snprintf(number, sizeof number, "%.9g", static_cast<double>(x));
                expect(got == want, "bfloat16_bits(" + std::string(number) + ") is " + hexadecimal(got) +
                                        ", and the nearest is " + hexadecimal(want));
            }
        });
    exercise.write("outlier_apart",
                   {"Which block do you give to pack?",
                    "far = abs(w) == max(abs(w)) is true at one weight. masked_fill makes it 0.",
                    "where(far, w, …) puts the weight back into what dequantize(pack(…, DType::Q4_0)) gives."},
                   [] {
                       for (const double outlier : {6.0, -6.0}) {
                           const Tensor w = with_an_outlier().slice(0, 0, 32).reshape({1, 32}).clone();
                           w.slice(1, 5, 6).fill_(outlier);
                           const Tensor before = w.clone(), got = outlier_apart(w), rest = w.clone();
                           expect(got.shape() == w.shape(), "the result has the shape " + got.shape().str());
                           rest.slice(1, 5, 6).fill_(0);
                           expect_equal("the weight of " + shown(outlier), got.at({0, 5}), outlier);
                           const Tensor want = dequantize(pack(rest, DType::Q4_0));
                           want.slice(1, 5, 6).fill_(outlier);
                           expect_equal("the weights beside " + shown(outlier), got, want);
                           expect_equal("what the call leaves in the caller's weights", w, before);
                       }
                   });
    exercise.paper(
        "tokens_on_paper", tokens_on_paper,
        {{"without a cache", tokens_through(28, 100, false)}, {"with a cache", tokens_through(28, 100, true)}},
        {"How many tokens go through the model for the first new token, and how many for the second?",
         "Without a cache 28 + 29 + … + 127. The last new token does not go through the model.",
         "With a cache the prompt once, and then one token for each of the other 99."});
    const auto tokens = [](double bytes) { return 306 / bytes; };  // of one weight
    const auto block = [](DType format) {
        return static_cast<double>(blocks_of(format).bytes) / static_cast<double>(blocks_of(format).length);
    };
    exercise.paper(
        "speed_on_paper", speed_on_paper,
        {{"float32", tokens(4)},
         {"bfloat16", tokens(2)},
         {"Q8_0", tokens(block(DType::Q8_0))},
         {"Q4_0", tokens(block(DType::Q4_0))}},
        {"How many bytes are read for a token?",
         "A weight takes 4 bytes in float32 and 2 in bfloat16. A block of 32 has 2 bytes for its scale.",
         "A block of Q8_0 has 2 + 32 bytes, and one of Q4_0 has 2 + 16."});
    return exercise.finish();
}
