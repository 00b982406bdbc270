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
        "broadcast_shape(" + a.str() + ", " + b.str() + ")", [&] { broadcast_shape(a, b); }, "broadcast");
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "3. Broadcasting and matrix products");
    exercise.part("broadcast_shape",
                  "Make the result as long as the longer shape. For i = 1, 2, … look at a[a.rank() - i] and "
                  "b[b.rank() - i], with 1 where there is none.",
                  [] {
                      expect_shape({3, 4}, {3, 4}, {3, 4});
                      expect_shape({3, 1}, {4}, {3, 4});
                      expect_shape({4}, {3, 1}, {3, 4});
                      expect_shape({}, {2, 3}, {2, 3});
                      expect_shape({4, 8, 5, 5}, {4, 1, 5, 5}, {4, 8, 5, 5});
                      expect_shape({8, 5, 5}, {4, 1, 1, 5}, {4, 8, 5, 5});
                      expect_shape({2, 1}, {1, 0}, {2, 0});
                      expect_refused({4, 8, 5, 5}, {4, 5, 5});
                      expect_refused({2, 3}, {2});
                      expect_refused({3}, {2, 4});
                  });
    exercise.part("outer_product", "u.unsqueeze(1) is a column (m, 1); v is a row (n,) already.", [] {
        Rng rng(3);
        const Tensor u = randn({3}, rng, float64), v = randn({4}, rng, float64);
        expect_equal("outer_product(u, v)", outer_product(u, v), matmul(u.unsqueeze(1), v.unsqueeze(0)));
        expect_equal("outer_product of one number and one number",
                     outer_product(full({1}, 3, float64), full({1}, 4, float64)), full({1, 1}, 12, float64));
        expect_gradient("outer_product", [](const std::vector<Tensor>& x) { return outer_product(x[0], x[1]); },
                        {Tensor(u.clone()).requires_grad_(), Tensor(v.clone()).requires_grad_()});
    });
    exercise.part(
        "unbroadcast",
        "First sum over axis 0 while dy has more axes than shape. Then, for each axis where shape has 1, "
        "sum over it with keepdim.",
        [] {
            Rng rng(4);
            const Tensor dy = randn({2, 3, 4}, rng, float64);
            for (const Shape& shape : {Shape{2, 3, 4}, Shape{3, 4}, Shape{4}, Shape{}, Shape{2, 1, 4},
                                       Shape{1, 4}, Shape{3, 1}, Shape{1, 1, 1}}) {
                // Stretching x and asking for its gradient gives the same.
                const Tensor x = zeros(shape, float64).requires_grad_();
                broadcast_to(x, dy.shape()).backward(dy);
                expect_equal("unbroadcast(dy of shape (2, 3, 4), " + shape.str() + ")", unbroadcast(dy, shape),
                             x.grad());
            }
        });
    return exercise.finish();
}
