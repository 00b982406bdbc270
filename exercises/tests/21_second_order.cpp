#include "exercise.h"
#include EXERCISE

namespace {

Tensor cubic(const Tensor& w) { return w[0] * w[0] * w[1] + w[1] * w[1] * w[1]; }

// ½ wᵀ A w, whose Hessian is A everywhere.
Tensor bowl(const Tensor& w) {
    const Tensor A = tensor({{4.0, 1.0, 0.0}, {1.0, 3.0, -2.0}, {0.0, -2.0, 5.0}}, float64);
    return 0.5 * sum(w * matmul(A, w.unsqueeze(1)).squeeze(1));
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "21. Gradients of gradients");
    const Tensor at = tensor({1.0, 2.0}, float64);
    exercise.predict("prediction_of_third", prediction_of_third, third_derivative,
                     "4x³, 12x², 24x: each call of grad takes one derivative more.",
                     {"Differentiate three times by hand."});
    exercise.mend(
        "square", "the gradient is right, but not the gradient of the gradient",
        {"gradcheck passes. Which check of the chapter looks at the rule's own gradient?",
         "The slope 2x has to know that it depends on x. Something in the rule cuts its history."},
        [] {
            Rng rng(17);
            const Tensor x = randn({3}, rng, float64).requires_grad_();
            const auto f = [](const std::vector<Tensor>& in) { return square(in[0]); };
            expect_equal("square of (1, -2)", square(tensor({1, -2}, float64)), tensor({1, 4}, float64));
            expect(std::string(operation_of(square(x))) == "square",
                   "square(x) should be one operation, recorded as \"square\"");
            expect_gradient("square", f, {x});
            const check::GradcheckReport second = check::gradgradcheck("square", f, {x});
            expect(second.passed,
                   "the gradient is right, but not the gradient of the gradient: " + second.message);
        });
    exercise.write(
        "hessian_vector",
        {"The gradient of which number is H v? It contains the gradient g of f, and v.",
         "∇(g · v) = H v, where v is constant. g must have its history.",
         "A leaf with the values of `at`; g by grad with create_graph; then grad({sum(g * v)}, {leaf})[0]."},
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
    exercise.write("hessian_of",
                   {"Which product with H is a column of it?",
                    "H times the i-th unit vector is its i-th column, and H is symmetric.",
                    "eye(n, float64)[i] is a unit vector; stack joins the rows."},
                   [&] {
                       expect_equal("H of w1^2 w2 + w2^3 at (1, 2)", hessian_of(cubic, at),
                                    tensor({{4.0, 2.0}, {2.0, 12.0}}, float64));
                       expect_equal("H of a bowl", hessian_of(bowl, zeros({3}, float64)),
                                    tensor({{4.0, 1.0, 0.0}, {1.0, 3.0, -2.0}, {0.0, -2.0, 5.0}}, float64));
                       const auto fourth = [](const Tensor& w) { return sum(w * w * w * w); };
                       expect_equal("H of w^4 at 3, a single parameter,",
                                    hessian_of(fourth, tensor({3.0}, float64)), tensor({{108.0}}, float64));
                   });
    exercise.write("slope_penalty",
                   {"All slopes come at once, because each row of y depends on its own row of x alone.",
                    "They are the gradient of the sum of y. The penalty is trained, so it needs a history.",
                    "A leaf with the values of x; grad({sum(net(leaf))}, {leaf}, {}, {.create_graph = "
                    "true})[0]; the mean of its squares."},
                   [] {
                       const Tensor x = tensor({{1.0}, {-2.0}}, float64);
                       const auto parabola = [](const Tensor& t) { return t * t; };
                       expect_equal("the penalty of y = x^2 at 1 and -2", slope_penalty(parabola, x),
                                    tensor(10.0, float64));  // (2² + 4²) / 2
                       const auto with = [&x](const std::vector<Tensor>& in) {
                           return slope_penalty([&in](const Tensor& t) { return tanh(in[0] * t); }, x);
                       };
                       expect(with({tensor(0.4, float64).requires_grad_()}).requires_grad(),
                              "the penalty has no history: backward cannot reach the parameters of net");
                       expect_gradient("the penalty of y = tanh(w x), by w", with,
                                       {tensor(0.4, float64).requires_grad_()});
                   });
    const Tensor H = tensor({{5, 2}, {2, 2}}, float64);
    const Tensor Hv = matmul(H, tensor({{1}, {-1}}, float64));
    exercise.paper("hessian_on_paper", hessian_on_paper,
                   {{"the larger eigenvalue", 3.5 + std::hypot(1.5, 2)},
                    {"the smaller eigenvalue", 3.5 - std::hypot(1.5, 2)},
                    {"the largest rate", 2 / (3.5 + std::hypot(1.5, 2))},
                    {"the first element of H v", Hv.at(0, 0)},
                    {"the second element of H v", Hv.at(1, 0)}},
                   {"The eigenvalues have the sum 5 + 2 and the product 5 · 2 - 2 · 2.",
                    "The largest rate is 2 over the larger eigenvalue."},
                   1e-3);
    return exercise.finish();
}
