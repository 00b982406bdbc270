// Tests of step 6.
#include "06_ops.h"
#include "check.h"

namespace {

using Doubles = std::vector<double>;

Tensor leaf(const Shape& shape, const Doubles& values) { return {Array(shape, values), true}; }

}  // namespace

int main() {
    Step step(6, "products, reductions, softmax");

    step.claim("exp, log, sqrt and tanh are right, and so are their slopes", "f returns {result, slope}.", [] {
        const auto both = [](const char* name, Tensor (*f)(const Tensor&), double y, double slope) {
            const Tensor x = leaf({1}, {0.25});
            const Tensor result = f(x);
            backward(result);
            expect_equal(std::string(name) + "(0.25)", result.item(), y);
            expect_equal(std::string("the slope of ") + name + " at 0.25", gradient_of(x)[0], slope);
        };
        const double t = std::tanh(0.25);
        both("exp", exp, std::exp(0.25), std::exp(0.25));
        both("log", log, std::log(0.25), 4);
        both("sqrt", sqrt, 0.5, 1);
        both("tanh", tanh, t, 1 - t * t);
    });
    step.claim("views send their gradient back through the same view", "Zeros, update(view(dx), dy, plus).",
               [] {
                   const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
                   backward(transpose(x, 0, 1) * Array({3, 2}, {1, 2, 3, 4, 5, 6}));
                   expect_equal("the gradient through transpose", gradient_of(x), Doubles{1, 3, 5, 2, 4, 6});
                   x.node->grad = {};
                   backward(slice(x, 1, 1, 3) * Array({2, 2}, {1, 2, 3, 4}));
                   expect_equal("the gradient through slice", gradient_of(x), Doubles{0, 1, 2, 0, 3, 4});
                   x.node->grad = {};
                   backward(reshape(transpose(x, 0, 1), {6}) * Array({6}, {1, 2, 3, 4, 5, 6}));
                   expect_equal("the gradient through transpose and reshape", gradient_of(x),
                                Doubles{1, 3, 5, 2, 4, 6});
               });
    step.claim("sums and means over all elements, or over the last axis", "sum_to; its rule is expand.", [] {
        const Tensor x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
        expect_equal("sum(x)", sum(x).item(), 21);
        expect_equal("mean(x)", mean(x).item(), 3.5);
        expect_equal("sum_last(x)", sum_last(x).data().values(), Doubles{6, 15});
        expect_equal("the shape of mean_last(x)", mean_last(x).shape(), Shape{2, 1});
        expect_equal("max_last(x)", max_last(x.data()).values(), Doubles{3, 6});
        backward(mean_last(x) * Array({2, 1}, {3, 6}));
        expect_equal("the gradient of x", gradient_of(x), Doubles{1, 1, 1, 2, 2, 2});
    });
    step.claim("a product of matrices is right", "z[i, j] is the sum over k of x[i, k] y[k, j].", [] {
        const Array a({2, 3}, {1, 2, 3, 4, 5, 6}), b({3, 2}, {1, 0, 2, 1, 0, 3});
        expect_equal("a @ b", matmul(a, b).values(), Doubles{5, 11, 14, 23});
        expect_equal("a @ a transposed", matmul(a, a.transpose(0, 1)).values(), Doubles{14, 32, 32, 77});
        expect_error("(2, 3) @ (2, 3)", [&] { matmul(a, a); });
    });
    step.claim("leading axes broadcast: one matrix for a batch", "Expand the leading axes of both.", [] {
        const Array a({2, 1, 2}, {1, 2, 3, 4}), b({2, 2}, {1, 10, 100, 1000});
        expect_equal("(2, 1, 2) @ (2, 2)", matmul(a, b).values(), Doubles{201, 2010, 403, 4030});
        expect_equal("its shape", matmul(a, b).shape, Shape{2, 1, 2});
        expect_equal("the shape of (3, 1, 4, 5) @ (2, 5, 6)",
                     matmul(Array::full({3, 1, 4, 5}, 1), Array::full({2, 5, 6}, 1)).shape, Shape{3, 2, 4, 6});
    });
    step.claim("a product sends dz @ yᵀ to x and xᵀ @ dz to y", "The shapes leave no other choice.", [] {
        const Tensor a = leaf({2, 3}, {1, 2, 3, 4, 5, 6}), b = leaf({3, 2}, {1, 0, 2, 1, 0, 3});
        backward(matmul(a, b) * Array({2, 2}, {1, 2, 3, 4}));
        expect_equal("the gradient of a", gradient_of(a), Doubles{1, 4, 6, 3, 10, 12});
        expect_equal("the gradient of b", gradient_of(b), Doubles{13, 18, 17, 24, 21, 30});
    });
    step.claim("a matrix that a batch shares gets the gradients of all samples", "backward sums it already.",
               [] {
                   const Tensor a = Array({2, 1, 2}, {1, 2, 3, 4}), b = leaf({2, 1}, {5, 6});
                   backward(matmul(a, b));
                   expect_equal("the gradient of b", gradient_of(b), Doubles{4, 6});
               });
    step.claim("softmax gives probabilities, for large numbers too", "Subtract the maximum first.", [] {
        const Tensor p = softmax(Array({2, 2}, {0, std::log(3.0), 1000, 1000}));
        expect_equal("softmax of (0, ln 3) and (1000, 1000)", p.data().values(), Doubles{0.25, 0.75, 0.5, 0.5});
        const double none = -std::numeric_limits<double>::infinity();
        const Tensor masked = leaf({1, 3}, {1, none, 1});
        const Tensor q = softmax(masked);
        expect_equal("softmax of (1, -inf, 1)", q.data().values(), Doubles{0.5, 0, 0.5});
        backward(q * Array({1, 3}, {1, 2, 3}));
        expect_equal("its gradient for weights (1, 2, 3)", gradient_of(masked), Doubles{-0.5, 0, 0.5});
    });
    step.claim("log_softmax is the logarithm of softmax, for large numbers too", "x - max - ln of the sum.",
               [] {
                   const Tensor x = Array({2, 2}, {0, 2000, 0, std::log(3.0)});
                   expect_equal("log_softmax of (0, 2000) and (0, ln 3)", log_softmax(x).data().values(),
                                Doubles{-2000, 0, std::log(0.25), std::log(0.75)});
               });
    step.claim(
        "index_select takes rows, and adds the gradients of a row that is taken twice", "update with plus.",
        [] {
            const Tensor table = leaf({3, 2}, {1, 2, 3, 4, 5, 6});
            const Tensor rows = index_select(table, {2, 0, 2});
            expect_equal("rows 2, 0, 2", rows.data().values(), Doubles{5, 6, 1, 2, 5, 6});
            backward(rows * Array({3, 1}, {1, 10, 100}));
            expect_equal("the gradient of the table", gradient_of(table), Doubles{10, 10, 0, 0, 101, 101});
            expect_error("row 3 of 3", [&] { index_select(table, {3}); });
        });
    step.claim("the gradient of cross_entropy is (p - 1 at the target) / N", "It follows from the other rules.",
               [] {
                   const Tensor logits = leaf({2, 2}, {0, std::log(3.0), 5, 5});
                   const Tensor loss = cross_entropy(logits, {1, 0});
                   backward(loss);
                   expect_equal("the loss", loss.item(), -(std::log(0.75) + std::log(0.5)) / 2);
                   expect_equal("the gradient", gradient_of(logits), Doubles{0.125, -0.125, -0.25, 0.25});
               });

    step.example([] {
        const Tensor logits = leaf({1, 3}, {2, 1, 0});
        const Tensor loss = cross_entropy(logits, {1});
        backward(loss);
        const std::vector<double> p = softmax(logits).data().values(), g = gradient_of(logits);
        std::printf("Logits 2, 1, 0, where the second is right:\n");
        std::printf("    probabilities  %6.3f %6.3f %6.3f\n", p[0], p[1], p[2]);
        std::printf("    cross-entropy  %6.3f\n", loss.item());
        std::printf("    gradients      %6.3f %6.3f %6.3f\n", g[0], g[1], g[2]);
    });
    return step.finish();
}
