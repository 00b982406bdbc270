// Exercises of chapter 1: a function, its slope, and a line fitted to points.
//
//     make exercise N=1          tries what you wrote; make hint N=1 helps
//
// Our solutions. The tasks are numbered as on the page.
#include "exercise.h"

// The mean squared error of the line y = w x + b at the points (1, 3) and (2, 5). w and b () → ().
inline Tensor line_loss(const Tensor& w, const Tensor& b) {
    const Tensor x = tensor({1.0, 2.0}, float64), y = tensor({3.0, 5.0}, float64);  // (2,)
    const Tensor error = w * x + b - y;                                             // (2,)
    return mean(error * error);
}

// 1. Predict. What is line_loss at w = 0 and b = 0? Write down the number, and only then run it.
double prediction_of_first_loss() { return 17; }

// 2. Predict. Is the gradient of line_loss by w positive or negative at w = 0 and b = 0? Write 1 or -1.
double prediction_of_sign() { return -1; }

// 3. Mend. The same loss for any points x and y (n,), computed in two steps. Its value is right; the gradient
// of one of the two parameters never arrives.
Tensor mean_squared_error(const Tensor& w, const Tensor& b, const Tensor& x, const Tensor& y) {
    const Tensor line = w * x + b;  // (n,)
    const Tensor error = line - y;  // (n,)
    return mean(error * error);
}

// 4. Write. 3x² + 2x for each element of x, in Weft's operations: any shape → the same shape.
Tensor f(const Tensor& x) { return 3 * x * x + 2 * x; }

// 5. Write. Where gradient descent on f arrives when it begins at x and makes `steps` steps with this learning
// rate. The gradients are the library's: no formula for the derivative of f.
double descend(double x, double rate, int steps) {
    for (int step = 0; step < steps; ++step) {
        const Tensor leaf = tensor(x, float64).requires_grad_();
        f(leaf).backward();
        x -= rate * leaf.grad().item();
    }
    return x;
}

struct Line {
    double w, b;
};

// 6. Write. The line y = w x + b after `steps` steps of gradient descent on mean_squared_error, from w = 0 and
// b = 0: x and y (n,) float64.
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

// 7. Paper. One step of gradient descent on line_loss from w = 0 and b = 0 with a learning rate of 0.1. Enter
// the new w, the new b, and the loss there.
std::vector<double> one_step_on_paper() { return {1.3, 0.8, 1.685}; }
