// Exercises of chapter 21: products with a Hessian, the Hessian itself, and a penalty on slopes.
//
//     make exercise N=21          tries what you wrote; make hint N=21 helps
//
// Replace each blank(). The tasks are numbered as on the page. grad({y}, {x}, {}, {.create_graph = true})[0] is
// the gradient of y by x, with its history; y has one element.
#include "exercise.h"

using Scalar = std::function<Tensor(const Tensor&)>;  // (n,) → (): one number of n

// 1. Predict. The third derivative of x⁴ at x = 1.
inline double third_derivative() {
    const Tensor x = tensor(1.0, float64).requires_grad_();
    Tensor y = x * x * x * x;
    for (int i = 0; i < 3; ++i) y = grad({y}, {x}, {}, {.create_graph = true})[0];
    return y.item();
}
double prediction_of_third() { return blank(); }

// 2. Mend. x² as an operation of its own. Its values are right, and so is its gradient; but a penalty on that
// gradient does not train.
Tensor square(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * x;
    }
    return record("square", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{2 * saved[0].detach() * dy}; });
}

// 3. Write. The product H v of the Hessian H of f at `at` with v, without ever computing H: at and v
// (n,) → (n,). `at` stays as it is.
Tensor hessian_vector(const Scalar& f, const Tensor& at, const Tensor& v) { return blank(); }

// 4. Write. The Hessian of f at `at`: H[i, j] = ∂²f / ∂wᵢ∂wⱼ. at (n,) → (n, n), float64.
Tensor hessian_of(const Scalar& f, const Tensor& at) { return blank(); }

// 5. Write. The mean of (dy/dx)² for y = net(x), where each row of y depends on the same row of x alone:
// x (N, 1) → (), with a history that leads to the parameters of net.
Tensor slope_penalty(const Scalar& net, const Tensor& x) { return blank(); }

// 6. Paper. A loss has the Hessian (5, 2; 2, 2) everywhere, and its minimum at (0, 0). Enter the larger and the
// smaller eigenvalue, the learning rate above which gradient descent diverges, and the two elements of H v for
// v = (1, −1).
std::vector<double> hessian_on_paper() { return blank(); }
