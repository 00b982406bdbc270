// Exercises of chapter 3: broadcasting and matrix products by hand.
//
//     make exercise N=3          tries what you wrote; make hint N=3 helps
//
// Replace each blank(). The tasks are numbered as on the page. Shape is a list of sizes: a.rank() of them,
// a[axis] one of them; Shape::filled(rank, 1) is a list of `rank` ones.
#include "exercise.h"

// 1. Predict. Somebody computes errors like this. Write the shape of the result as {…}, and only then run it.
inline Shape shape_of_errors() {
    const Tensor predictions = zeros({5, 1}), targets = zeros({5});
    return (predictions - targets).shape();
}
Shape prediction_of_shape() { return blank(); }

// 2. Predict. The gradient of b's first element.
inline double gradient_of_row() {
    const Tensor x = ones({3, 4}, float64), b = zeros({4}, float64).requires_grad_();
    sum(x + b).backward();
    return b.grad().at({0});
}
double prediction_of_gradient() { return blank(); }

// 3. Mend. Each product's share of its shop's sales: sales (shops, products) → the same shape, where each row
// sums to 1. For most tables it is refused; for some it is silently wrong.
Tensor shares(const Tensor& sales) { return sales / sum(sales, 1); }

// 4. Write. The shape that a and b broadcast to, or a ShapeError whose message contains "do not broadcast". Do
// not use the library's broadcast_shapes.
//     (3, 1), (4,) → (3, 4)        (2, 1), (1, 0) → (2, 0)        (2, 3), (2,) → refused
Shape broadcast_shape(const Shape& a, const Shape& b) { return blank(); }

// 5. Write. y_ij = u_i · v_j: u (m,), v (n,) → (m, n). Without matmul and outer.
Tensor outer_product(const Tensor& u, const Tensor& v) { return blank(); }

// 6. Write. The gradient of x, which has this shape, from the gradient dy of what x was broadcast to. Do not
// use the library's sum_to.
//     dy (2, 3), shape (3,) → (3,)        dy (2, 3), shape (2, 1) → (2, 1)
Tensor unbroadcast(const Tensor& dy, const Shape& shape) { return blank(); }

// 7. Paper. A is (100, 10), B is (10, 1000) and C is (1000, 5). Enter the multiply-adds of (A B) C, and those
// of A (B C); then those of a batch (8, 5, 3) times a matrix (3, 4).
std::vector<double> costs_on_paper() { return blank(); }
