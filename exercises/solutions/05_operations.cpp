// Our solutions: the functions of exercises/05_operations.cpp that change.

double prediction_of_step() { return 1e-5; }

std::string prediction_at_zero() { return "nan"; }

Tensor cube(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * x * x;
    }
    return record("cube", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * 3 * saved[0] * saved[0]}; });
}

Tensor swish(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * sigmoid(x);
    }
    return record("swish", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor s = sigmoid(saved[0]);
        return Grads{dy * s * (1 + saved[0] * (1 - s))};
    });
}

Tensor logcosh(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = abs(x) + log(1 + exp(-2 * abs(x))) - std::log(2.0);
    }
    return record("logcosh", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * tanh(saved[0])}; });
}

double central_difference(const std::function<double(double)>& f, double x, double h) {
    return (2.0 / 3 * (f(x + h) - f(x - h)) - 1.0 / 12 * (f(x + 2 * h) - f(x - 2 * h))) / h;
}

std::vector<double> best_step_on_paper() { return {1, 1.5}; }
