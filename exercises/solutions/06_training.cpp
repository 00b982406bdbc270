// Exercises of chapter 6: steps of three optimisers, the largest learning rate, and the loop around them.
//
//     make exercise N=6          tries what you wrote; make hint N=6 helps
//
// Our solutions. The tasks are numbered as on the page.
#include <cmath>

#include "exercise.h"

// w after some steps of gradient descent on ½ · curvature · w², from w = 1. Without `clears`, zero_grad() is
// forgotten.
inline double w_after(double curvature, double lr, int steps, bool clears) {
    Tensor w = tensor(1.0, float64).requires_grad_();
    for (int step = 0; step < steps; ++step) {
        if (clears) w.zero_grad();
        (0.5 * curvature * w * w).backward();
        const NoGrad off;
        w.add_(w.grad(), -lr);
    }
    return w.item();
}

// 1. Predict w_after(4, 0.5, 3, true): three steps with a learning rate of 0.5, where the curvature is 4.
double prediction_of_three_steps() { return -1; }

// 2. Predict w_after(1, 0.1, 2, false): two steps of 0.1, where the curvature is 1 and zero_grad() is
// forgotten.
double prediction_without_zero_grad() { return 0.71; }

struct Adam {
    Tensor p, m, v;  // the parameter, and the running averages of its gradient and of the square of it
};

// 3. Mend. Step t = 1, 2, … of Adam with β₁ = 0.9, β₂ = 0.999 and ε = 1e-8, as chapter 6 defines it: g is the
// gradient at state.p, and m and v are 0 before the first step. It learns, but its first steps have a wrong
// length.
Adam adam_step(const Adam& state, const Tensor& g, double lr, int t) {
    const Tensor m = 0.9 * state.m + 0.1 * g, v = 0.999 * state.v + 0.001 * g * g;
    const Tensor average = m / (1 - std::pow(0.9, t)), square = v / (1 - std::pow(0.999, t));
    return {state.p - lr * average / (sqrt(square) + 1e-8), m, v};
}

struct Momentum {
    Tensor p, b;  // the parameter, and the running sum of its gradients
};

// 4. Write. One step of SGD with momentum, which returns the new p and b: g is the gradient at p, of its shape.
// b is undefined before the first step.
Momentum momentum_step(const Tensor& p, const Tensor& g, const Tensor& b, double lr, double momentum) {
    const Tensor sum = b.defined() ? momentum * b + g : g;
    return {p - lr * sum, sum};
}

// 5. Write. The learning rate above which SGD with this momentum diverges on a quadratic loss with the Hessian
// (xx, xy; xy, yy), whose eigenvalues are positive.
double largest_stable_rate(double xx, double xy, double yy, double momentum) {
    const double largest = (xx + yy) / 2 + std::hypot((xx - yy) / 2, xy);
    return 2 * (1 + momentum) / largest;
}

// 6. Write. Trains w (in, out) and b (out,), which are leaves, so that x w + b comes close to y: x (N, in),
// y (N, out); the loss is the mean squared error. Returns the losses, each from before its step. Gradients that
// w and b have from elsewhere must not matter.
std::vector<double> fit(Tensor& w, Tensor& b, const Tensor& x, const Tensor& y, double lr, int steps) {
    optim::SGD optimizer(std::vector<Tensor>{w, b}, {.lr = lr});
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
        optimizer.zero_grad();
        const Tensor loss = mse_loss(matmul(x, w) + b, y);
        loss.backward();
        optimizer.step();
        losses.push_back(loss.item());
    }
    return losses;
}

// 7. Paper. f(x, y) = ½ (9x² + y²). Enter the learning rate above which gradient descent diverges, then the
// factor that each step multiplies y by at a learning rate of 0.2, and the factor that it multiplies x by.
std::vector<double> rates_on_paper() { return {2.0 / 9, 0.8, -0.8}; }
