// Exercises of chapter 3: broadcasting and matrix products by hand.
//
//     make exercise N=3          tries what you wrote; make hint N=3 helps
//
// Our solutions. The tasks are numbered as on the page. Shape is a list of sizes: a.rank() of them, a[axis]
// one of them; Shape::filled(rank, 1) is a list of `rank` ones.
#include "exercise.h"

// 1. Predict. Somebody computes errors like this. Write the shape of the result as {…}, and only then run it.
inline Shape shape_of_errors() {
    const Tensor predictions = zeros({5, 1}), targets = zeros({5});
    return (predictions - targets).shape();
}
Shape prediction_of_shape() { return {5, 5}; }

// 2. Predict. The gradient of b's first element.
inline double gradient_of_row() {
    const Tensor x = ones({3, 4}, float64), b = zeros({4}, float64).requires_grad_();
    sum(x + b).backward();
    return b.grad().at({0});
}
double prediction_of_gradient() { return 3; }

// 3. Mend. Each product's share of its shop's sales: sales (shops, products) → the same shape, where each row
// sums to 1. For most tables it is refused; for some it is silently wrong.
Tensor shares(const Tensor& sales) { return sales / sum(sales, 1, keepdim); }

// 4. Write. The shape that a and b broadcast to, or a ShapeError whose message contains "do not broadcast". Do
// not use the library's broadcast_shapes.
//     (3, 1), (4,) → (3, 4)        (2, 1), (1, 0) → (2, 0)        (2, 3), (2,) → refused
Shape broadcast_shape(const Shape& a, const Shape& b) {
    Shape result = Shape::filled(std::max(a.rank(), b.rank()), 1);
    for (int i = 1; i <= result.rank(); ++i) {  // axis −i
        const std::int64_t m = i <= a.rank() ? a[a.rank() - i] : 1;
        const std::int64_t n = i <= b.rank() ? b[b.rank() - i] : 1;
        if (m != n && m != 1 && n != 1)
            throw ShapeError(a.str() + " and " + b.str() + " do not broadcast: axis " + std::to_string(-i));
        result[result.rank() - i] = m == 1 ? n : m;
    }
    return result;
}

// 5. Write. y_ij = u_i · v_j: u (m,), v (n,) → (m, n). Without matmul and outer.
Tensor outer_product(const Tensor& u, const Tensor& v) {
    return u.unsqueeze(1) * v;  // (m, 1) · (n,)
}

// 6. Write. The gradient of x, which has this shape, from the gradient dy of what x was broadcast to. Do not
// use the library's sum_to.
//     dy (2, 3), shape (3,) → (3,)        dy (2, 3), shape (2, 1) → (2, 1)
Tensor unbroadcast(const Tensor& dy, const Shape& shape) {
    Tensor dx = dy;
    while (dx.rank() > shape.rank()) dx = sum(dx, 0);
    for (int axis = 0; axis < shape.rank(); ++axis)
        if (shape[axis] == 1) dx = sum(dx, axis, keepdim);
    return dx;
}

// 7. Paper. A is (100, 10), B is (10, 1000) and C is (1000, 5). Enter the multiply-adds of (A B) C, and those
// of A (B C); then those of a batch (8, 5, 3) times a matrix (3, 4).
std::vector<double> costs_on_paper() { return {1500000, 55000, 480}; }
