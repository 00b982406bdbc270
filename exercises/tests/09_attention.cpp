#include "exercise.h"

#include EXERCISE

namespace {

void expect_weights(const std::string& what, const std::vector<double>& got, const std::vector<double>& want) {
    const auto n = static_cast<std::int64_t>(want.size());
    expect(got.size() == want.size(), what + ": there are " + std::to_string(got.size()) +
                                          " weights, and should be " + std::to_string(n) +
                                          ", one for each key");
    expect_equal(what, from_vector(got, {n}), from_vector(want, {n}));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "9. Attention with one head");
    exercise.predict("prediction_of_table", prediction_of_table, gradient_of_table,
                     "Token 1 occurs twice, so row 1 is used twice, and the gradients of both uses add up.",
                     {"How often is row 1 part of the sum?"});
    exercise.predict("prediction_for_equal_keys", prediction_for_equal_keys, output_for_equal_keys,
                     "Equal scores give equal weights of 1/3, and the output is the mean of the values.",
                     {"What does softmax make of three equal scores?"});
    exercise.mend("attention_weights", "the weights of query 0 sum to",
                  {"What should each row of the weights sum to? Print the sums.",
                   "Each query shares out its weights over the keys. Which axis are the keys?"},
                  [] {
                      Rng rng(3);
                      const Tensor q = randn({3, 4}, rng, float64), k = randn({3, 4}, rng, float64);
                      const Tensor weights = attention_weights(q, k);
                      expect(weights.shape() == Shape({3, 3}),
                             "the weights of three queries and three keys are " + weights.shape().str() +
                                 ", and should be (3, 3)");
                      for (int i = 0; i < 3; ++i)
                          expect_equal("what the weights of query " + std::to_string(i) + " sum to",
                                       sum(weights, 1).at({i}), 1);
                      expect_equal("the weights of three queries and three keys", weights,
                                   scaled_dot_product_attention_with_weights(q, k, k).weights);
                  });
    exercise.write(
        "weights_of",
        {"Three loops: the scores, their exponentials, the division by the sum.",
         "e^1000 is infinite. Subtracting one number from all scores changes no weight.",
         "√d_k is the root of query.size(). Subtract *std::max_element of the scores before std::exp."},
        [] {
            expect_weights("the weights of the query (0, 2, 0, 0)",
                           weights_of({0, 2, 0, 0}, {{1, 0, 0, 0}, {0, 2, 0, 1}, {0, 0, 2, 1}}),
                           {0.10650697891920075, 0.7869860421615985, 0.10650697891920075});
            expect_weights("the weights of one key alone", weights_of({3}, {{5}}), {1});
            expect_weights("the weights for scores of 1000, 999 and 0", weights_of({1}, {{1000}, {999}, {0}}),
                           {0.7310585786300049, 0.2689414213699951, 0});
        });
    exercise.write(
        "scores_of",
        {"A matrix product and a division. Which axes of k have to change places?",
         "transpose(-2, -1) exchanges the last two axes at every rank; T() is for matrices only.",
         "The root is that of q.size(-1), the width that the product sums over."},
        [] {
            const Tensor q = tensor({{0, 2, 0, 0}, {2, 0, 1, 0}}, float64),
                         k = tensor({{1, 0, 0, 0}, {0, 2, 0, 1}, {0, 0, 2, 1}}, float64);
            expect_equal("scores_of(q, k) of q (2, 4) and k (3, 4)", scores_of(q, k),
                         tensor({{0, 2, 0}, {1, 0, 1}}, float64));
            Rng rng(8);
            const Tensor a = randn({2, 3, 5, 9}, rng, float64), b = randn({2, 3, 4, 9}, rng, float64);
            expect_equal("scores_of of q (2, 3, 5, 9) and k (2, 3, 4, 9)", scores_of(a, b),
                         matmul(a, b.transpose(-2, -1)) / 3);
        });
    exercise.write(
        "attend",
        {"Scores, weights, output: three steps, and the first is task 5.",
         "Each query's weights over the keys sum to 1, and the keys are the last axis of (…, T, S).",
         "matmul(softmax(…, -1), v)."},
        [] {
            Rng rng(9);
            const auto leaf = [&](const Shape& shape) { return randn(shape, rng, float64).requires_grad_(); };
            const Tensor q = leaf({2, 3, 4}), k = leaf({2, 5, 4}), v = leaf({2, 5, 6});
            expect_equal("attend with values that are all 1", attend(q, k, ones({2, 5, 6}, float64)),
                         ones({2, 3, 6}, float64));
            expect_equal("attend of q (2, 3, 4), k (2, 5, 4) and v (2, 5, 6)", attend(q, k, v),
                         scaled_dot_product_attention(q, k, v));
            expect_gradient("attend", [](const std::vector<Tensor>& x) { return attend(x[0], x[1], x[2]); },
                            {q, k, v});
        });
    const AttentionResult right = scaled_dot_product_attention_with_weights(
        tensor({{2, 0, 0, 0}}, float64),
        tensor({{std::log(3.0), 5.0, 5.0, 5.0}, {0.0, 1.0, 2.0, 3.0}}, float64), tensor({{10}, {2}}, float64));
    exercise.paper("attention_on_paper", attention_on_paper,
                   {{"the weight", right.weights.at(0, 0)}, {"the output", right.output.item()}},
                   {"The scores first: most of the numbers are multiplied by 0.",
                    "The scores are 2 ln 3 / √4 = ln 3 and 0. What is e to the power of each?",
                    "3 and 1, so the weights are 3/4 and 1/4."});
    return exercise.finish();
}
