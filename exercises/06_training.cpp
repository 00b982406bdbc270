// Exercise of chapter 6: one step of an optimiser, the largest learning rate, and the loop around both.
//
//     make exercise N=6
//
// Write each function, or part of one, in place of its blank.
#include <cmath>

#include "exercise.h"

struct Momentum {
    Tensor p, b;  // the parameter, and the running sum of its gradients
};

// One step of SGD with momentum:  b ← momentum · b + g,  p ← p − lr · b.
// p and g of one shape; b like them, or undefined before the first step, in which the new b is g. Returns the
// new p and b.
Momentum momentum_step(const Tensor& p, const Tensor& g, const Tensor& b, double lr, double momentum) {
    return blank("the new sum b, which is g in the first step, and p - lr times it");
}

// The learning rate above which SGD with this momentum diverges on a quadratic surface with the Hessian
// (xx, xy; xy, yy):  2 (1 + momentum) / λ, with λ the larger eigenvalue. The two eigenvalues are
// (xx + yy) / 2 ± √(((xx − yy) / 2)² + xy²).
double largest_stable_rate(double xx, double xy, double yy, double momentum) {
    return blank("2 (1 + momentum) over the larger eigenvalue");
}

// Trains `model` on x (N, in) and y (N, out) with the mean squared error, and returns the losses, each from
// before its step. What gradients the model has from elsewhere must not matter.
std::vector<double> fit(const nn::Linear& model, const Tensor& x, const Tensor& y, double lr, int steps) {
    optim::SGD optimizer(model, {.lr = lr});
    std::vector<double> losses;
    for (int step = 0; step < steps; ++step) {
        blank("the four calls of a step, in their order, and the loss into losses");
    }
    return losses;
}
