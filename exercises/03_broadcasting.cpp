// Exercise of chapter 3: broadcasting by hand.
//
//     make exercise N=3
//
// Write each function in place of its blank. Shape is a list of sizes: a.rank() of them, a[axis] one of them;
// Shape::filled(rank, 1) is a list of `rank` ones.
#include "exercise.h"

// The shape that a and b broadcast to. Aligned from the right; a missing axis counts as 1; two sizes must be
// equal, or one of them 1, which stretches. Otherwise: throw ShapeError("…do not broadcast…").
//     (3, 1), (4,) → (3, 4)        (2, 1), (1, 0) → (2, 0)        (2, 3), (2,) → refused
Shape broadcast_shape(const Shape& a, const Shape& b) {
    return blank("compare sizes from the right, the last axis first");
}

// y_ij = u_i · v_j: u (m,), v (n,) → (m, n). With *, without matmul.
Tensor outer_product(const Tensor& u, const Tensor& v) {
    return blank("make u a column and let it broadcast against v");
}

// The gradient of x, of this shape, where dy is the gradient of what x was stretched to by broadcasting: dy
// summed over each axis that x does not have, and over each axis where x has size 1 (which stays). With sum.
//     dy (2, 3), shape (3,) → (3,)        dy (2, 3), shape (2, 1) → (2, 1)
Tensor unbroadcast(const Tensor& dy, const Shape& shape) {
    return blank("sum over the axes in front that are too many, then over those of size 1");
}
