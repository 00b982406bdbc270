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
    exercise.paper(
        "tokens_on_paper", tokens_on_paper,
        {{"without a cache", tokens_through(28, 100, false)}, {"with a cache", tokens_through(28, 100, true)}},
        {"How many tokens go through the model for the first new token, and how many for the second?",
         "Without a cache 28 + 29 + … + 127. The last new token does not go through the model.",
         "With a cache the prompt once, and then one token for each of the other 99."});
    return exercise.finish();
}
