#include "exercise.h"

#include EXERCISE

namespace {

bool has_nan(const Tensor& x) { return any(x != x); }

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "10. Masks");
    exercise.part(
        "causal_mask",
        "arange(T).reshape({T, 1}) has a row for each query; arange(S) > that broadcasts to (T, S). Add S − "
        "T to the left or the right?",
        [] {
            expect_equal("causal_mask(3, 3)", causal_mask(3, 3),
                         tensor({{0, 1, 1}, {0, 0, 1}, {0, 0, 0}}, boolean));
            expect_equal("causal_mask(2, 5), two new queries behind three keys: it", causal_mask(2, 5),
                         tensor({{0, 0, 0, 0, 1}, {0, 0, 0, 0, 0}}, boolean));
            expect_equal("causal_mask(1, 4), one new query: it", causal_mask(1, 4), zeros({1, 4}, boolean));
        });
    exercise.part(
        "padded_causal",
        "from_vector(lengths, {B, 1, 1, 1}) leaves room for heads and queries; key j is padding where j ≥ "
        "the length. || joins two masks.",
        [] {
            const Tensor two = padded_causal({1, 3}, 3);
            expect_equal(
                "padded_causal({1, 3}, 3)", two,
                tensor({{{{0, 1, 1}, {0, 1, 1}, {0, 1, 1}}}, {{{0, 1, 1}, {0, 0, 1}, {0, 0, 0}}}}, boolean));
            const Mask both = Mask::causal() | Mask::padding({0, 2, 5});
            expect_equal("padded_causal({0, 2, 5}, 5)", padded_causal({0, 2, 5}, 5),
                         both.materialize(3, 1, 5, 5));
        });
    exercise.part("safe_softmax",
                  "Where all are blocked the maximum is −inf: put 0 in its place before you subtract it. The "
                  "sum is then 0: put "
                  "1 in its place before you divide.",
                  [] {
                      const Tensor scores = tensor({{2, 1.5, 0.8, 0.3}, {1000, 999, 0, 0}, {2, 1.5, 0.8, 0.3}},
                                                   float64),
                                   blocked = tensor({{0, 0, 1, 1}, {0, 0, 0, 1}, {1, 1, 1, 1}}, boolean);
                      Tensor x = scores.clone().requires_grad_();
                      const Tensor y = safe_softmax(x, blocked);
                      expect(!has_nan(y), "there are NaN among the weights, " + y.detach().str());
                      expect_equal("safe_softmax with two keys, with three, and with none to see", y,
                                   softmax(masked_fill(scores, blocked, -INFINITY), -1));
                      const Tensor seed = tensor({{1, 2, 3, 4}, {4, 3, 2, 1}, {1, 2, 3, 4}}, float64);
                      y.backward(seed);
                      expect(!has_nan(x.grad()),
                             "the weights are right, but there are NaN in the gradient of the scores");
                      Tensor z = scores.clone().requires_grad_();
                      softmax(masked_fill(z, blocked, -INFINITY), -1).backward(seed);
                      expect_equal("the gradient of the scores", x.grad(), z.grad());
                  });
    return exercise.finish();
}
