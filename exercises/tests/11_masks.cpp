#include "exercise.h"

#include EXERCISE

namespace {

bool has_nan(const Tensor& x) { return any(x != x); }

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "11. Masks");
    exercise.predict("prediction_of_pairs", prediction_of_pairs, blocked_pairs,
                     "A token may attend to itself, so 0 + 1 + 2 + 3 + 4 pairs after the diagonal are blocked.",
                     {"How many keys are blocked for the first query? And for the last?"});
    exercise.predict(
        "prediction_of_masked_row", prediction_of_masked_row, sum_of_masked_row,
        "Weft gives a fully masked row weights of 0, because there is nothing to share out.",
        {"Softmax would divide by the sum of e^(-∞), which is 0. What does the chapter say instead?"});
    exercise.mend("causal_weights", "what row 0 of the weights sums to",
                  {"Print the sums of the rows.",
                   "softmax has given the blocked keys their shares before they are blocked.",
                   "masked_fill with -INFINITY has to come before softmax."},
                  [] {
                      Rng rng(10);
                      const Tensor scores = randn({4, 4}, rng, float64);
                      const Tensor weights = causal_weights(scores);
                      expect(weights.shape() == Shape({4, 4}),
                             "the weights are " + weights.shape().str() + ", and should be (4, 4)");
                      for (int i = 0; i < 4; ++i) {
                          expect_equal("what row " + std::to_string(i) + " of the weights sums to",
                                       sum(weights, 1).at({i}), 1);
                          for (int j = i + 1; j < 4; ++j)
                              expect_equal("a weight after the diagonal", weights.at(i, j), 0);
                      }
                      // Scores of the future change nothing.
                      expect_equal("the weights after the scores of the future were edited",
                                   causal_weights(scores + 5 * triu(ones({4, 4}, float64), 1)), weights);
                  });
    exercise.write(
        "causal_mask",
        {"Query i of the T queries is token i + (S - T) of all S.",
         "arange(S) has the keys, arange(T).reshape({T, 1}) the queries; a comparison broadcasts to (T, S).",
         "Key j is blocked where j > i + (S - T)."},
        [] {
            expect_equal("causal_mask(3, 3)", causal_mask(3, 3),
                         tensor({{0, 1, 1}, {0, 0, 1}, {0, 0, 0}}, boolean));
            expect_equal("causal_mask(2, 5), two new queries after three keys,", causal_mask(2, 5),
                         tensor({{0, 0, 0, 0, 1}, {0, 0, 0, 0, 0}}, boolean));
            expect_equal("causal_mask(1, 4), one new query,", causal_mask(1, 4), zeros({1, 4}, boolean));
        });
    exercise.write(
        "padded_causal",
        {"Two masks, joined. Which shape must each have so that they broadcast to (B, 1, T, T)?",
         "Padding concerns keys, the last axis: (B, 1, 1, T). Key j is padding where j ≥ the length.",
         "arange(T) >= from_vector(lengths, {B, 1, 1, 1}), joined by || with causal_mask(T, T)."},
        [] {
            const Tensor two = padded_causal({1, 3}, 3);
            expect_equal(
                "padded_causal({1, 3}, 3)", two,
                tensor({{{{0, 1, 1}, {0, 1, 1}, {0, 1, 1}}}, {{{0, 1, 1}, {0, 0, 1}, {0, 0, 0}}}}, boolean));
            const Mask both = Mask::causal() | Mask::padding({0, 2, 5});
            expect_equal("padded_causal({0, 2, 5}, 5)", padded_causal({0, 2, 5}, 5),
                         both.materialize(3, 1, 5, 5));
        });
    exercise.write(
        "safe_softmax",
        {"As plain softmax with -∞ where blocked. What goes wrong in a fully masked row, and where first?",
         "Its maximum is -∞, and -∞ - (-∞) is NaN; later its sum is 0, and 0/0 is NaN. It is safest not to let "
         "NaN arise at all.",
         "masked_fill(largest, largest == -INFINITY, 0) before subtracting, and masked_fill(total, total == 0, "
         "1) before dividing."},
        [] {
            const Tensor scores = tensor({{2, 1.5, 0.8, 0.3}, {1000, 999, 0, 0}, {2, 1.5, 0.8, 0.3}}, float64),
                         blocked = tensor({{0, 0, 1, 1}, {0, 0, 0, 1}, {1, 1, 1, 1}}, boolean);
            const Tensor x = scores.clone().requires_grad_();
            const Tensor y = safe_softmax(x, blocked);
            expect(!has_nan(y), "there are NaN among the weights, " + y.detach().str());
            expect_equal("safe_softmax with two keys, with three, and with none to attend to", y,
                         softmax(masked_fill(scores, blocked, -INFINITY), -1));
            const Tensor seed = tensor({{1, 2, 3, 4}, {4, 3, 2, 1}, {1, 2, 3, 4}}, float64);
            y.backward(seed);
            expect(!has_nan(x.grad()),
                   "the weights are right, but there are NaN in the gradient of the scores");
            const Tensor z = scores.clone().requires_grad_();
            softmax(masked_fill(z, blocked, -INFINITY), -1).backward(seed);
            expect_equal("the gradient of the scores", x.grad(), z.grad());
        });
    exercise.write(
        "multi_head_causal_attention",
        {"Project, split, score, block, softmax, weigh, merge, project. Only one of the steps is new.",
         "The scores are divided by the root of d_head, not of D. What is blocked becomes -∞ before softmax.",
         "masked_fill(scores, causal_mask(T, T), -INFINITY) broadcasts over samples and heads."},
        [] {
            Rng rng(4);
            const nn::Attention module(12, 3, rng, {.fused = false});  // d_head = 4
            const Tensor X = randn({2, 5, 12}, rng);
            const auto attend = [&](const Tensor& x) {
                return multi_head_causal_attention(x, module.W_in[0].weight.T(), module.W_in[1].weight.T(),
                                                   module.W_in[2].weight.T(), module.W_out.weight.T(), 3);
            };
            const auto found = attend(X), expected = module.with_weights(X, Mask::causal());
            expect_equal("weights for D = 12 in 3 heads, (2, 3, 5, 5)", found.weights, expected.weights, 1e-5);
            expect_equal("output for D = 12 in 3 heads, (2, 5, 12)", found.output, expected.output, 1e-5);
            expect(all(triu(attend(1e6 * X).weights, 1) == 0),
                   "with large scores a blocked key has a weight other than 0");
        });
    const Tensor v = tensor({{4}, {8}, {0}, {100}}, float64), scores = zeros({4, 4}, float64);
    const Tensor right = matmul(softmax(masked_fill(scores, triu(ones({4, 4}), 1) == 1, -INFINITY), -1), v);
    exercise.paper(
        "outputs_on_paper", outputs_on_paper,
        {{"the first output", right.at(0, 0)},
         {"the second output", right.at(1, 0)},
         {"the third output", right.at(2, 0)},
         {"the fourth output", right.at(3, 0)},
         {"the first output with the mask after softmax", matmul(tril(softmax(scores, -1)), v).at(0, 0)}},
        {"Equal scores give equal weights: each output is a mean. Of which values?",
         "After softmax over all four keys, each weight is 1/4; the mask leaves the first token one of them."});
    return exercise.finish();
}
