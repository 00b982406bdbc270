#include <cmath>

#include "exercise.h"
#include EXERCISE

namespace {

Tensor causal_weights(std::int64_t T, Rng& rng) {
    const Tensor future = Mask::causal().materialize(1, 1, T, T).reshape({T, T});
    return softmax(masked_fill(randn({T, T}, rng, float64), future, -INFINITY), -1);
}

// (T, T): row i looks at keys[i] alone.
Tensor looking_at(const std::vector<std::int64_t>& keys) {
    const auto T = static_cast<std::int64_t>(keys.size());
    Tensor weights = zeros({T, T}, float64);
    for (std::int64_t i = 0; i < T; ++i) weights[i][keys[static_cast<std::size_t>(i)]].fill_(1);
    return weights;
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "14. Looking inside");
    exercise.part(
        "without_head",
        "Make ones (H,), fill_(0) at this head, and reshape it to (H, 1, 1), which broadcasts over T and d_k.",
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
            Tensor leaf = randn({1, 2, 2, 2}, rng, float64).requires_grad_();
            expect_gradient("without_head",
                            [](const std::vector<Tensor>& in) { return without_head(in[0], 1); }, {leaf});
        });
    exercise.part("previous_score", "Add weights.at({i, i - 1}) for i = 1 … T − 1 and divide by T − 1.", [] {
        expect_equal("the score of {{1, 0}, {0.75, 0.25}}",
                     previous_score(tensor({{1, 0}, {0.75, 0.25}}, float64)), 0.75);
        expect_equal("the score of a head that always looks at the token before",
                     previous_score(looking_at({0, 0, 1, 2, 3})), 1);
        expect_equal("the score of a head that looks at the token itself",
                     previous_score(looking_at({0, 1, 2, 3})), 0);
        Rng rng(15);
        const Tensor weights = causal_weights(6, rng);
        double want = 0;
        for (std::int64_t i = 1; i < 6; ++i) want += weights.at({i, i - 1}) / 5;
        expect_equal("the score of a random map (6, 6)", previous_score(weights), want);
    });
    exercise.part("induction_score",
                  "For each i, go back from j = i − 1 while ids[j] differs from ids[i]; when j ends below 0 "
                  "the place does not count.",
                  [] {
                      const Tensor weights = tensor({{1, 0, 0}, {0.5, 0.5, 0}, {0.25, 0.625, 0.125}}, float64);
                      expect_equal("the score for ids a b a", induction_score(weights, {0, 1, 0}), 0.625);
                      expect_equal("the score where no id comes twice", induction_score(weights, {0, 1, 2}), 0);
                      expect_equal("the score for ids a a a (the last earlier place counts)",
                                   induction_score(weights, {7, 7, 7}), (0.5 + 0.125) / 2);
                      expect_equal("the score of an induction head for a b c a b c",
                                   induction_score(looking_at({0, 0, 0, 1, 2, 3}), {4, 5, 6, 4, 5, 6}), 1);
                      expect_equal("the score of a previous-token head for a b c a b c",
                                   induction_score(looking_at({0, 0, 1, 2, 3, 4}), {4, 5, 6, 4, 5, 6}), 0);
                  });
    return exercise.finish();
}
