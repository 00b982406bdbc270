#include "exercise.h"

#include EXERCISE

namespace {

struct Sample {
    Tensor q, k, v, dy;  // (T, d_k), (S, d_k), (S, d_v), (T, d_v)
};
Sample sample(std::int64_t T, std::int64_t S, std::uint64_t seed) {
    Rng rng(seed);
    return {randn({T, 3}, rng, float64), randn({S, 3}, rng, float64), randn({S, 2}, rng, float64),
            randn({T, 2}, rng, float64)};
}

// What the library says: dq, dk and dv.
std::vector<Tensor> right(const Sample& x, const Tensor& blocked, double scale) {
    const Tensor q = x.q.clone().requires_grad_(), k = x.k.clone().requires_grad_(),
                 v = x.v.clone().requires_grad_();
    const Tensor y = scaled_dot_product_attention(q, k, v, {.mask = Mask::blocked(blocked), .scale = scale});
    return grad({y}, {q, k, v}, {x.dy});
}

void expect_attention_gradients(const std::string& of, const Sample& x, const Tensor& blocked, double scale) {
    const NoGrad off;  // so that backward is no way out
    const Gradients got = attention_gradients(x.q, x.k, x.v, blocked, scale, x.dy);
    std::vector<Tensor> want;
    {
        const EnableGrad on;
        want = right(x, blocked, scale);
    }
    expect_equal("dv " + of, got.dv, want[2]);
    expect_equal("dq " + of, got.dq, want[0]);
    expect_equal("dk " + of, got.dk, want[1]);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "12. Attention's backward, by hand");
    exercise.predict("prediction_of_first_query", prediction_of_first_query, gradient_of_first_query,
                     "It attends to itself alone, with weight 1 whatever its score is, so its query changes "
                     "nothing. The 7 goes to its value.",
                     {"How many keys may the first query attend to?",
                      "Its one weight is 1. Which other number could softmax give it?"});
    exercise.predict(
        "prediction_of_values", prediction_of_values, gradients_of_values,
        "Each query's weights sum to 1, so its gradient of 1 is shared out among the values, except "
        "for the fourth: its weights are 0.",
        {"How is the gradient of one output shared out among the values?",
         "The shares are the weights, which sum to 1. And in a fully masked row?"});
    exercise.mend(
        "gradient_of_scores", "what row 0 of ds sums to",
        {"Print the sums of the rows of the result. What should they be?",
         "D is an average of dp with the weights of one query. Along which axis do these sum to 1?",
         "Axis 0 runs over the queries; the keys are axis -1. keepdim stays."},
        [] {
            for (const std::int64_t S : {3, 5}) {
                Rng rng(7);
                const Tensor s = randn({3, S}, rng, float64).requires_grad_(), dp = randn({3, S}, rng, float64);
                const Tensor p = softmax(s, -1);
                const Tensor ds = gradient_of_scores(p.detach(), dp);
                expect(ds.shape() == s.shape(), "the gradient has the shape " + ds.shape().str() +
                                                    ", and the scores " + s.shape().str());
                for (int i = 0; i < 3; ++i)
                    expect_equal("what row " + std::to_string(i) + " of ds sums to", sum(ds, 1).at({i}), 0);
                expect_equal("ds", ds, grad({p}, {s}, {dp})[0]);
            }
        });
    exercise.write(
        "attention_gradients",
        {"Five lines, from y back to q and k. Compute p first, as forward does.",
         "y = p v gives dv = pᵀ dy and dp = dy vᵀ. Then ds from task 3, and s = q kᵀ · scale gives the rest.",
         "dq = ds k · scale, dk = dsᵀ q · scale. Block with masked_fill and -INFINITY before softmax, as in "
         "chapter 11; nothing else needs the mask."},
        [] {
            expect_attention_gradients("without a mask", sample(4, 5, 3), zeros({4, 5}, boolean), 0.6);
            expect_attention_gradients("of as many keys as queries", sample(4, 4, 4), zeros({4, 4}, boolean),
                                       2);
            expect_attention_gradients("under a causal mask", sample(4, 4, 5), triu(ones({4, 4}), 1) == 1, 0.5);
            expect_attention_gradients("with a fully masked row", sample(3, 3, 6),
                                       tensor({{0, 0, 1}, {1, 1, 1}, {1, 0, 0}}, boolean), 0.5);
        });
    exercise.write(
        "gradients_of_block",
        {"dk and dv need the weights of these keys, and softmax's rule needs D. Neither may look at the other "
         "keys.",
         "A weight is e^(s − lse): its score and lse are all that it takes. D is dy · y, row by row; the sum "
         "of p "
         "dp over the block alone would be a part of it.",
         "p = masked_fill(exp(matmul(q, k.T()) * scale - lse), blocked, 0). Filling comes last, because e^(s + "
         "∞) "
         "of a fully masked row is ∞, and ∞ · 0 would be NaN."},
        [] {
            const NoGrad off;
            const Sample x = sample(6, 6, 8);
            const Tensor blocked = triu(ones({6, 6}), 1) == 1 || arange(6) < 1;  // the first row as a whole
            const Tensor s = masked_fill(matmul(x.q, x.k.T()) * 0.7, blocked, -INFINITY);
            const Tensor y = matmul(softmax(s, -1), x.v), lse = logsumexp(s, -1, keepdim);
            std::vector<Tensor> want;
            {
                const EnableGrad on;
                want = right(x, blocked, 0.7);
            }
            for (const auto& [from, to] :
                 {std::pair<std::int64_t, std::int64_t>{1, 3}, {0, 2}, {3, 6}, {0, 6}}) {
                const BlockGradients got =
                    gradients_of_block(x.q, x.k.slice(0, from, to), x.v.slice(0, from, to),
                                       blocked.slice(1, from, to), y, lse, 0.7, x.dy);
                const std::string of = "of keys " + std::to_string(from) + " to " + std::to_string(to - 1);
                expect_equal("dv " + of, got.dv, want[2].slice(0, from, to));
                expect_equal("dk " + of, got.dk, want[1].slice(0, from, to));
            }
        });
    exercise.write(
        "gradient_of_scale",
        {"s = scale · (q kᵀ), element by element. What is the derivative of one score with respect to "
         "the scale?",
         "All scores depend on the one scale, so their contributions add up.",
         "sum(ds * matmul(q, k.T())): the dot products, not yet scaled."},
        [] {
            for (const double scale : {0.5, 1.0, 2.0}) {
                const Sample x = sample(4, 5, 9);
                const Tensor c = tensor(scale, float64).requires_grad_();
                const Tensor y = matmul(softmax(matmul(x.q, x.k.T()) * c, -1), x.v);
                const double want = grad({y}, {c}, {x.dy})[0].item();
                const NoGrad off;
                expect_equal("the gradient of a scale of " + std::to_string(scale).substr(0, 3),
                             gradient_of_scale(x.q, x.k, x.v, scale, x.dy), want);
            }
        });
    const Tensor p = tensor({{0.5, 0.25, 0.25}}, float64), k = tensor({{2, 0}, {0, 4}, {4, 4}}, float64),
                 v = tensor({{3}, {1}, {7}}, float64);
    const Tensor dp = 2 * v.T(), D = sum(p * dp, -1, keepdim), ds = p * (dp - D), dq = matmul(ds, k);
    exercise.paper("row_on_paper", row_on_paper,
                   {{"D", D.at(0, 0)},
                    {"the gradient of the first score", ds.at(0, 0)},
                    {"the gradient of the second score", ds.at(0, 1)},
                    {"the gradient of the third score", ds.at(0, 2)},
                    {"the first number of dq", dq.at(0, 0)},
                    {"the second number of dq", dq.at(0, 1)}},
                   {"dp is the gradient of the output times each value. D is its average, with the weights.",
                    "dp is 6, 2 and 14. Each score gets weight · (dp − D), and the three sum to 0.",
                    "dq is the sum of the keys, each times the gradient of its score."});
    return exercise.finish();
}
