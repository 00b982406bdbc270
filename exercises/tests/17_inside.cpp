#include <cmath>

#include "exercise.h"
#include EXERCISE

namespace {

Tensor causal_weights(std::int64_t T, Rng& rng) {
    const Tensor future = Mask::causal().materialize(1, 1, T, T).reshape({T, T});
    return softmax(masked_fill(randn({T, T}, rng, float64), future, -INFINITY), -1);
}

// (T, T): row i attends to keys[i] alone.
Tensor attending_to(const std::vector<std::int64_t>& keys) {
    const auto T = static_cast<std::int64_t>(keys.size());
    const Tensor weights = zeros({T, T}, float64);
    for (std::int64_t i = 0; i < T; ++i) weights[i][keys[static_cast<std::size_t>(i)]].fill_(1);
    return weights;
}

// The position after the last earlier one that holds the same id as the last.
double induced(const std::vector<std::int64_t>& ids) {
    for (std::size_t j = ids.size() - 1; j-- > 0;)
        if (ids[j] == ids.back()) return static_cast<double>(j + 1);
    return -1;
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "17. Looking inside");
    exercise.predict(
        "prediction_of_position", prediction_of_position,
        [] {
            return induced({0, 1, 2, 3, 0});
        },
        "It attends to what followed the same token the last time: the b after the first a, at position 1.",
        {"What does an induction head predict after the last a?",
         "It copies the token that followed the first a. Where is that?"});
    exercise.predict(
        "prediction_of_uniform", prediction_of_uniform, previous_score_of_uniform,
        "Equal weights are 1/2, 1/3 and 1/4 for the second, third and fourth token; their mean is 13/36.",
        {"How many keys may the second token attend to? And the third?"}, 0.01);
    exercise.mend(
        "without_head", "without_head(heads, 0)",
        {"Try it where H = T, on numbers that you can follow: what becomes 0?",
         "Aligned from the right, the axes of heads are d_k, T, H, B. Which of them does active meet?",
         "active must be (H, 1, 1)."},
        [] {
            Rng rng(14);
            const Tensor heads = randn({2, 3, 3, 4}, rng, float64);  // H = T: a wrong axis would pass unseen
            const Tensor before = heads.clone();
            for (std::int64_t h = 0; h < 3; ++h) {
                std::vector<Tensor> parts = chunk(heads, 3, 1);
                parts[static_cast<std::size_t>(h)] = zeros({2, 1, 3, 4}, float64);
                expect_equal("without_head(heads, " + std::to_string(h) + ")", without_head(heads, h),
                             cat(parts, 1));
            }
            expect_equal("what the call leaves in the caller's heads", heads, before);
            const Tensor leaf = randn({1, 2, 3, 2}, rng, float64).requires_grad_();
            expect_gradient("without_head",
                            [](const std::vector<Tensor>& in) { return without_head(in[0], 1); }, {leaf});
        });
    exercise.write("previous_score",
                   {"Which elements of the map are the weights of i on i - 1?",
                    "weights.at({i, i - 1}) for i = 1 … T - 1. How many are there?"},
                   [] {
                       expect_equal("the score of {{1, 0}, {0.75, 0.25}}",
                                    previous_score(tensor({{1, 0}, {0.75, 0.25}}, float64)), 0.75);
                       expect_equal("the score of a head that always attends to the token before",
                                    previous_score(attending_to({0, 0, 1, 2, 3})), 1);
                       expect_equal("the score of a head that attends to the token itself",
                                    previous_score(attending_to({0, 1, 2, 3})), 0);
                       Rng rng(15);
                       const Tensor weights = causal_weights(6, rng);
                       double want = 0;
                       for (std::int64_t i = 1; i < 6; ++i) want += weights.at({i, i - 1}) / 5;
                       expect_equal("the score of a random map (6, 6)", previous_score(weights), want);
                   });
    exercise.write(
        "induction_score",
        {"For each position: has its id occurred before, and where was the last time?",
         "What followed it is one position later. Take the mean over the positions that count.",
         "Go back from j = i - 1 while ids[j] differs from ids[i]; if j ends below 0, the position does not "
         "count, otherwise weights.at({i, j + 1}) does."},
        [] {
            const Tensor weights = tensor({{1, 0, 0}, {0.5, 0.5, 0}, {0.25, 0.625, 0.125}}, float64);
            expect_equal("the score for ids a b a", induction_score(weights, {0, 1, 0}), 0.625);
            expect_equal("the score where no id occurs twice", induction_score(weights, {0, 1, 2}), 0);
            expect_equal("the score for ids a a a, where the last earlier one counts,",
                         induction_score(weights, {7, 7, 7}), (0.5 + 0.125) / 2);
            expect_equal("the score of an induction head for a b c a b c",
                         induction_score(attending_to({0, 0, 0, 1, 2, 3}), {4, 5, 6, 4, 5, 6}), 1);
            expect_equal("the score of a previous-token head for a b c a b c",
                         induction_score(attending_to({0, 0, 1, 2, 3, 4}), {4, 5, 6, 4, 5, 6}), 0);
        });
    exercise.paper(
        "scores_on_paper", scores_on_paper,
        {{"the previous-token score", (1 / 2.0 + 1 / 2.0 + 1 / 4.0) / 3},
         {"the induction score", (1 / 2.0 + 1 / 4.0) / 2}},
        {"Mark the three weights just below the diagonal.",
         "The third and the fourth token have occurred before, at positions 0 and 1. What followed them?",
         "The weights of position 2 on 1, and of position 3 on 2."},
        1e-3);
    return exercise.finish();
}
