// Our solutions: the functions of exercises/21_second_order.cpp that change.

double prediction_of_third() { return 24; }

Tensor square(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * x;
    }
    return record("square", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{2 * saved[0] * dy}; });
}

Tensor hessian_vector(const Scalar& f, const Tensor& at, const Tensor& v) {
    const Tensor w = at.detach().clone().requires_grad_();
    const Tensor g = grad({f(w)}, {w}, {}, {.create_graph = true})[0];
    return grad({sum(g * v)}, {w})[0];
}

Tensor hessian_of(const Scalar& f, const Tensor& at) {
    std::vector<Tensor> rows;
    for (std::int64_t i = 0; i < at.size(0); ++i)
        rows.push_back(hessian_vector(f, at, eye(at.size(0), float64)[i]));
    return stack(rows, 0);
}

Tensor slope_penalty(const Scalar& net, const Tensor& x) {
    const Tensor leaf = x.detach().clone().requires_grad_();
    const Tensor slope = grad({sum(net(leaf))}, {leaf}, {}, {.create_graph = true})[0];
    return mean(slope * slope);
}

std::vector<double> hessian_on_paper() { return {6, 1, 1.0 / 3, 3, 0}; }
