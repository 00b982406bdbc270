#include "exercise.h"
#include EXERCISE

namespace {

Tensor cubic(const Tensor& w) { return w[0] * w[0] * w[1] + w[1] * w[1] * w[1]; }

// ½ wᵀ A w, whose Hessian is A wherever one looks.
Tensor bowl(const Tensor& w) {
    const Tensor A = tensor({{4.0, 1.0, 0.0}, {1.0, 3.0, -2.0}, {0.0, -2.0, 5.0}}, float64);
    return 0.5 * sum(w * matmul(A, w.unsqueeze(1)).squeeze(1));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "17. Gradients of gradients");
    const Tensor at = tensor({1.0, 2.0}, float64);
    exercise.part(
        "hessian_vector",
        "Without create_graph the gradient has no history, and nothing can be differentiated again. v is a "
        "plain tensor: the gradient asked for is by w.",
        [&] {
            expect_equal("H v of w1^2 w2 + w2^3 at (1, 2), v = (1, -1)",
                         hessian_vector(cubic, at, tensor({1.0, -1.0}, float64)),
                         tensor({2.0, -10.0}, float64));
            expect_equal(
                "H v of a bowl, v = (1, 0, 2)",
                hessian_vector(bowl, tensor({7.0, -1.0, 0.5}, float64), tensor({1.0, 0.0, 2.0}, float64)),
                tensor({4.0, -3.0, 10.0}, float64));
            expect_equal("H v with v = 0", hessian_vector(cubic, at, zeros({2}, float64)), zeros({2}, float64));
            expect(!at.requires_grad(), "hessian_vector should leave `at` as it was; make a leaf of its own");
        });
    exercise.part("hessian", "H times the i-th unit vector is the i-th column, and H is symmetric.", [&] {
        expect_equal("H of w1^2 w2 + w2^3 at (1, 2)", hessian(cubic, at),
                     tensor({{4.0, 2.0}, {2.0, 12.0}}, float64));
        expect_equal("H of a bowl", hessian(bowl, zeros({3}, float64)),
                     tensor({{4.0, 1.0, 0.0}, {1.0, 3.0, -2.0}, {0.0, -2.0, 5.0}}, float64));
        const auto fourth = [](const Tensor& w) { return sum(w * w * w * w); };
        expect_equal("H of w^4 at 3, a single parameter", hessian(fourth, tensor({3.0}, float64)),
                     tensor({{108.0}}, float64));
    });
    exercise.part(
        "slope_penalty",
        "The slopes of all rows come at once, as the gradient of the sum of all results. It needs its "
        "history, since the penalty itself is trained.",
        [] {
            const Tensor x = tensor({{1.0}, {-2.0}}, float64);
            const auto square = [](const Tensor& t) { return t * t; };
            expect_equal("the penalty of y = x^2 at 1 and -2", slope_penalty(square, x),
                         tensor(10.0, float64));  // (2² + 4²) / 2
            const auto with = [&x](const std::vector<Tensor>& in) {
                return slope_penalty([&in](const Tensor& t) { return tanh(in[0] * t); }, x);
            };
            expect_gradient("the penalty of y = tanh(w x), by w", with,
                            {tensor(0.4, float64).requires_grad_()});
        });
    return exercise.finish();
}
