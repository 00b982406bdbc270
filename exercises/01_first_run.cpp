// Exercise of chapter 1: a function, its slope, and a few steps downhill.
//
//     make exercise N=1
//
// Write each function in place of its blank.
#include "exercise.h"

// f(x) = 3x² + 2x, for each element of x: any shape → the same shape. Its slope is 6x + 2.
Tensor f(const Tensor& x) { return blank("3x² + 2x, with * and +"); }

// The slope of f at the number `at`, by backward: make a leaf (float64), compute f, go back, read the gradient.
double slope(double at) { return blank("a leaf, f of it, backward, and the leaf's gradient"); }

// Where one arrives from `x` after `steps` steps of gradient descent on f: x ← x − rate · slope(x), each time.
double descend(double x, double rate, int steps) {
    return blank("steps times: x less rate times the slope at x");
}
