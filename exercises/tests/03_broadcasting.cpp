#include "exercise.h"
#include EXERCISE

namespace {

void expect_shape(const Shape& a, const Shape& b, const Shape& want) {
    const Shape got = broadcast_shape(a, b);
    expect(got == want, "broadcast_shape(" + a.str() + ", " + b.str() + ") is " + got.str() +
                            ", and should be " + want.str());
}

void expect_refused(const Shape& a, const Shape& b) {
    expect_error(
        "broadcast_shape(" + a.str() + ", " + b.str() + ")", [&] { (void)broadcast_shape(a, b); },
        "do not broadcast");
}

// The multiply-adds of (m, k) @ (k, n).
double cost(double m, double k, double n) { return m * k * n; }

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "3. Broadcasting and matrix products");
    exercise.predict("prediction_of_shape", prediction_of_shape, shape_of_errors,
                     "Aligned from the right, the 5 of the targets meets the 1 of the predictions: every "
                     "prediction is compared with every target.",
                     {"Write the two shapes one above the other, aligned from the right.",
                      "A missing axis counts as 1, and a size of 1 stretches."});
    exercise.predict("prediction_of_gradient", prediction_of_gradient, gradient_of_row,
                     "b is added to each of the three rows, so its gradient is a sum of three.",
                     {"How often is the first element of b used?"});
    exercise.mend("shares", "shares of a (3, 3) table, element (0, 1)",
                  {"Try it on a table with as many shops as products, and sum the rows of the result.",
                   "sum(sales, 1) is (shops,). Which axis of the table does it meet, aligned from the right?",
                   "The sum must keep its axis, with size 1."},
                  [] {
                      const Tensor square = tensor({{1, 1, 2}, {5, 0, 5}, {2, 3, 0}}, float64);
                      expect_equal("shares of a (3, 3) table", shares(square),
                                   tensor({{0.25, 0.25, 0.5}, {0.5, 0, 0.5}, {0.4, 0.6, 0}}, float64));
                      expect_equal("shares of a (2, 3) table", shares(tensor({{1, 1, 2}, {5, 0, 5}}, float64)),
                                   tensor({{0.25, 0.25, 0.5}, {0.5, 0, 0.5}}, float64));
                  });
    exercise.write("broadcast_shape",
                   {"Which sizes are compared? Begin at the last axis of both.",
                    "The result is as long as the longer shape. Two sizes must be equal, or one of them 1; an "
                    "axis that is missing counts as 1.",
                    "For i = 1, 2, … compare a[a.rank() - i] and b[b.rank() - i], with 1 where there is none. "
                    "The result has the other size where one is 1: the larger of 1 and 0 would be wrong."},
                   [] {
                       expect_shape({3, 4}, {3, 4}, {3, 4});
                       expect_shape({3, 1}, {4}, {3, 4});
                       expect_shape({4}, {3, 1}, {3, 4});
                       expect_shape({}, {2, 3}, {2, 3});
                       expect_shape({10, 3, 32, 32}, {10, 1, 32, 32}, {10, 3, 32, 32});
                       expect_shape({3, 1, 1}, {10, 3, 32, 32}, {10, 3, 32, 32});
                       expect_shape({2, 1}, {1, 0}, {2, 0});
                       expect_refused({10, 3, 32, 32}, {10, 32, 32});
                       expect_refused({2, 3}, {2});
                       expect_refused({3}, {2, 4});
                       expect_refused({0}, {2});
                   });
    exercise.write(
        "outer_product",
        {"Which shapes broadcast to (m, n)?", "u has to become a column (m, 1); v is a row (n,) already.",
         "unsqueeze(1) adds an axis of size 1 after the first."},
        [] {
            Rng rng(3);
            const Tensor u = randn({3}, rng, float64), v = randn({4}, rng, float64);
            expect_equal("outer_product(u, v) of u (3,) and v (4,)", outer_product(u, v),
                         matmul(u.unsqueeze(1), v.unsqueeze(0)));
            const Tensor w = randn({3}, rng, float64);
            expect_equal("outer_product(u, w) of u (3,) and w (3,)", outer_product(u, w),
                         matmul(u.unsqueeze(1), w.unsqueeze(0)));
            expect_gradient("outer_product",
                            [](const std::vector<Tensor>& x) { return outer_product(x[0], x[1]); },
                            {Tensor(u.clone()).requires_grad_(), Tensor(v.clone()).requires_grad_()});
        });
    exercise.write(
        "unbroadcast",
        {"Each element of x was used several times. What becomes of the gradients of all its copies?",
         "Sum over each axis that x does not have, and over each axis where x has size 1.",
         "First sum over axis 0 while dy has more axes than shape; then, where shape has 1, sum with keepdim."},
        [] {
            Rng rng(4);
            const Tensor dy = randn({2, 3, 4}, rng, float64);
            for (const Shape& shape : {Shape{2, 3, 4}, Shape{3, 4}, Shape{4}, Shape{}, Shape{2, 1, 4},
                                       Shape{1, 4}, Shape{3, 1}, Shape{1, 1, 1}}) {
                // Broadcasting x and asking for its gradient gives the same.
                const Tensor x = zeros(shape, float64).requires_grad_();
                broadcast_to(x, dy.shape()).backward(dy);
                expect_equal("unbroadcast(dy of shape (2, 3, 4), " + shape.str() + ")", unbroadcast(dy, shape),
                             x.grad());
            }
        });
    exercise.paper("costs_on_paper", costs_on_paper,
                   {{"(A B) C", cost(100, 10, 1000) + cost(100, 1000, 5)},
                    {"A (B C)", cost(10, 1000, 5) + cost(100, 10, 5)},
                    {"the batch", 8 * cost(5, 3, 4)}},
                   {"Each of the m · n elements of (m, k) @ (k, n) is a sum of k products.",
                    "Each way is two products. A B is (100, 1000), B C is (10, 5).",
                    "(8, 5, 3) @ (3, 4) is eight products of (5, 3) and (3, 4)."});
    return exercise.finish();
}
