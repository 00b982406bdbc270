#include "exercise.h"
#include EXERCISE

namespace {

void expect_ids(const std::string& what, const Tensor& got, const Tensor& want) {
    expect(got.defined() && got.dtype() == int64, what + " should hold int64");
    expect_equal(what, got, want);
}

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

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "13. Training a GPT on your own text");
    exercise.predict("prediction_of_starts", prediction_of_starts, possible_starts,
                     "A piece and its targets need 65 characters together, so the last piece starts at 935.",
                     {"How many characters do a piece and its targets cover together?",
                      "The piece at 0 covers 0 … 64. Where does the last one start?"});
    exercise.predict("prediction_when_hot", prediction_when_hot, probability_when_hot,
                     "Divided by a million all logits are nearly 0, and equal logits give equal probabilities.",
                     {"What are the logits after the division?"}, 0.005);
    exercise.mend("make_batch", "targets, element (0, 0)",
                  {"Which character should the model predict where it reads the first of a piece?",
                   "The targets are the piece one token later."},
                  [] {
                      const Tensor ids = tensor({5, 6, 7, 8, 9}, int64);
                      const Batch two = make_batch(ids, {0, 2}, 2);
                      expect_ids("inputs", two.inputs, tensor({{5, 6}, {7, 8}}, int64));
                      expect_ids("targets", two.targets, tensor({{6, 7}, {8, 9}}, int64));
                      const Batch last = make_batch(ids, {0}, 4);  // to the last id
                      expect_ids("the targets of start 0, T = 4,", last.targets, tensor({{6, 7, 8, 9}}, int64));
                      expect_error(
                          "make_batch(5 ids, start 3, T = 2)",
                          [&] {
                              (void)make_batch(ids, {0, 3}, 2);
                          },
                          "3");
                  });
    exercise.write(
        "perplexity",
        {"Perplexity is e to the mean loss of a token. What does cross_entropy return for a batch?",
         "A batch's loss is a mean over its tokens: multiply by their number before you add batches up.",
         "Add cross_entropy(logits, targets).item() * targets.numel() over the batches, divide by the number "
         "of all tokens, and take std::exp."},
        [] {
            Rng rng(13);
            const Tensor targets = randint(0, 7, {2, 5}, rng);
            expect_equal("the perplexity of zeros (2, 5, 7)",
                         perplexity({{zeros({2, 5, 7}, float64), targets}}), 7);
            // half of the probability on the right token of two: 2; a quarter: 4; together the root of 2 · 4
            const Tensor logits = log(tensor({{{0.5, 0.5}, {0.75, 0.25}}}, float64));
            expect_equal("the perplexity of probabilities 1/2 and 1/4",
                         perplexity({{logits, tensor({{0, 1}}, int64)}}), std::sqrt(8.0));
            // one token of 1/4 in one batch, three of 1/2 in another: (4 · 2 · 2 · 2)^(1/4)
            const Tensor one = log(tensor({{{0.75, 0.25}}}, float64)), three = zeros({1, 3, 2}, float64);
            expect_equal("the perplexity of a batch of one token, 1/4, and one of three, 1/2 each,",
                         perplexity({{one, tensor({{1}}, int64)}, {three, tensor({{0, 1, 0}}, int64)}}),
                         std::pow(32, 0.25));
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
