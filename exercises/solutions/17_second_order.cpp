// Exercise of chapter 17: products with a Hessian, the Hessian itself, and a penalty on slopes.
//
//     make exercise N=17
//
// Write each function in place of its blank. grad({y}, {x}, {}, {.create_graph = true})[0] is the gradient of y
// by x, with its history; y has one element.
#include "exercise.h"

using Scalar = std::function<Tensor(const Tensor&)>;  // (n,) → (): one number of n

// H v at `at`, where H is the Hessian of f: the gradient of g · v, with g the gradient of f. at and v (n,) →
// (n,).
Tensor hessian_vector(const Scalar& f, const Tensor& at, const Tensor& v) {
    Tensor w = at.clone().requires_grad_();
    Tensor g = grad({f(w)}, {w}, {}, {.create_graph = true})[0];
    return grad({sum(g * v)}, {w})[0];
}

// The Hessian of f at `at`: H[i, j] = ∂²f / ∂wᵢ∂wⱼ. at (n,) → (n, n), float64.
Tensor hessian(const Scalar& f, const Tensor& at) {
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < at.size(0); ++i)
        rows.push_back(hessian_vector(f, at, eye(at.size(0), float64)[i]));
    return stack(rows, 0);
}

// The mean of (dy/dx)² for y = net(x), where each row of x gives a row of y by itself: x (N, 1) → (), with its
// history, so that backward reaches the parameters of net.
Tensor slope_penalty(const Scalar& net, const Tensor& x) {
    Tensor leaf = x.detach().clone().requires_grad_();
    Tensor slope = grad({sum(net(leaf))}, {leaf}, {}, {.create_graph = true})[0];
    return mean(slope * slope);
}
