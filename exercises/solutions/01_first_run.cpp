// Our solutions: the functions of exercises/01_first_run.cpp that change.

double prediction_of_first_loss() { return 17; }

double prediction_of_sign() { return -1; }

Tensor mean_squared_error(const Tensor& w, const Tensor& b, const Tensor& x, const Tensor& y) {
    const Tensor line = w * x + b;  // (n,)
    const Tensor error = line - y;  // (n,)
    return mean(error * error);
}

Tensor f(const Tensor& x) { return 3 * x * x + 2 * x; }

double descend(double x, double rate, int steps) {
    for (int step = 0; step < steps; ++step) {
        const Tensor leaf = tensor(x, float64).requires_grad_();
        f(leaf).backward();
        x -= rate * leaf.grad().item();
    }
    return x;
}

Line fit_line(const Tensor& x, const Tensor& y, double rate, int steps) {
    Tensor w = tensor(0.0, float64).requires_grad_(), b = tensor(0.0, float64).requires_grad_();
    for (int step = 0; step < steps; ++step) {
        w.zero_grad();
        b.zero_grad();
        mean_squared_error(w, b, x, y).backward();
        const NoGrad off;
        w.add_(w.grad(), -rate);
        b.add_(b.grad(), -rate);
    }
    return {w.item(), b.item()};
}

std::vector<double> one_step_on_paper() { return {1.3, 0.8, 1.685}; }
