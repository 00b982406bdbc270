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
    Exercise exercise(argc, argv, "8. Attention with one head");
    exercise.part("weights_of",
                  "√d_k is the root of query.size(). Find the largest score with std::max_element before the "
                  "first std::exp.",
                  [] {
                      expect_weights("weights of the query of \"sat\"",
                                     weights_of({0, 2, 0, 0}, {{1, 0, 0, 0}, {0, 2, 0, 1}, {0, 0, 2, 1}}),
                                     {0.10650697891920075, 0.7869860421615985, 0.10650697891920075});
                      expect_weights("weights of one key alone", weights_of({3}, {{5}}), {1});
                      expect_weights("weights for scores of 1000, 999 and 0",
                                     weights_of({1}, {{1000}, {999}, {0}}),
                                     {0.7310585786300049, 0.2689414213699951, 0});
                  });
    exercise.part(
        "scores_of",
        "transpose(-2, -1) works for every rank, T() for rank 2 only; the root is that of q.size(-1), the "
        "width that the product sums over.",
        [] {
            const Tensor q = tensor({{0, 2, 0, 0}, {2, 0, 1, 0}}, float64),
                         k = tensor({{1, 0, 0, 0}, {0, 2, 0, 1}, {0, 0, 2, 1}}, float64);
            expect_equal("scores_of(q, k) of q (2, 4) and k (3, 4)", scores_of(q, k),
                         tensor({{0, 2, 0}, {1, 0, 1}}, float64));
            Rng rng(8);
            const Tensor a = randn({2, 3, 5, 9}, rng, float64), b = randn({2, 3, 4, 9}, rng, float64);
            expect_equal("scores_of for a batch, q (2, 3, 5, 9) and k (2, 3, 4, 9): it", scores_of(a, b),
                         matmul(a, b.transpose(-2, -1)) / 3);
        });
    exercise.part(
        "attend", "Each query's weights over the keys sum to 1, and keys are the last axis of (…, T, S).", [] {
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
    return exercise.finish();
}
