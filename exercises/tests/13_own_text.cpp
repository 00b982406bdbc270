#include "exercise.h"
#include EXERCISE

namespace {

void expect_ids(const std::string& what, const Tensor& got, const Tensor& want) {
    expect(got.defined() && got.dtype() == int64, what + " should hold int64");
    expect_equal(what, got, want);
}

void expect_probabilities(const Tensor& logits, double temperature, std::int64_t top_k, const Tensor& want) {
    char temperature_text[16];
    std::snprintf(temperature_text, sizeof temperature_text, "%g", temperature);
    const std::string what = "sampling_probabilities(logits, temperature " + std::string(temperature_text) +
                             ", top_k " + std::to_string(top_k) + ")";
    const Tensor before = logits.clone();
    const Tensor got = sampling_probabilities(logits, temperature, top_k);
    expect_equal(what, got, want, 1e-6);
    expect_equal("what the call leaves in the caller's logits", logits, before);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "13. Training a GPT on your own text");
    exercise.part("make_batch",
                  "ids.slice(0, start, start + T) is a piece; its targets begin at start + 1 and end before "
                  "start + T + 1, "
                  "which must not be above the number of ids. stack joins pieces (T,) to (B, T).",
                  [] {
                      const Tensor ids = tensor({5, 6, 7, 8, 9}, int64);
                      const Batch two = make_batch(ids, {0, 2}, 2);
                      expect_ids("inputs", two.inputs, tensor({{5, 6}, {7, 8}}, int64));
                      expect_ids("targets", two.targets, tensor({{6, 7}, {8, 9}}, int64));
                      const Batch last = make_batch(ids, {0}, 4);  // to the last id
                      expect_ids("the targets of start 0, T = 4", last.targets, tensor({{6, 7, 8, 9}}, int64));
                      expect_error(
                          "make_batch(5 ids, start 3, T = 2)",
                          [&] {
                              make_batch(ids, {0, 3}, 2);
                          },
                          "3");
                  });
    exercise.part("perplexity", "std::exp(cross_entropy(logits, targets).item()).", [] {
        Rng rng(13);
        const Tensor targets = randint(0, 7, {2, 5}, rng);
        expect_equal("perplexity(zeros, targets)", perplexity(zeros({2, 5, 7}, float64), targets), 7, 1e-9);
        // half of the probability on the right token of two: 2; a quarter: 4; together the root of 2 · 4
        const Tensor logits = log(tensor({{{0.5, 0.5}, {0.75, 0.25}}}, float64));
        expect_equal("the perplexity of probabilities 1/2 and 1/4", perplexity(logits, tensor({{0, 1}}, int64)),
                     std::sqrt(8.0), 1e-9);
    });
    exercise.part("sampling_probabilities",
                  "Find the k-th largest logit; masked_fill(logits, logits < it, -INFINITY); then softmax(… / "
                  "temperature, 0). "
                  "Temperature 0 must not divide: it is top_k = 1.",
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
    return exercise.finish();
}
