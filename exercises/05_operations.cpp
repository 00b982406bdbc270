// Exercise of chapter 5: an operation is its values and its rule: two operations, and the difference that
// checks them.
//
//     make exercise N=5
//
// Write each function in place of its blank.
#include <cmath>
#include <functional>

#include "exercise.h"

// swish(x) = x · σ(x), elementwise, with σ(x) = 1 / (1 + e⁻ˣ): the activation of many language models, also
// called SiLU. Its derivative: σ(x) · (1 + x · (1 − σ(x))). The values under NoGrad; then record(name, y,
// inputs, keep, rule) with the name "swish".
Tensor swish(const Tensor& x) {
    return blank("the values x * sigmoid(x) under NoGrad, then record with the rule");
}

// logcosh(x) = ln((eˣ + e⁻ˣ) / 2), elementwise: like x²/2 near 0, like |x| − ln 2 far from it. As it stands
// there it overflows; |x| + ln(1 + e^(−2|x|)) − ln 2 is the same value and does not. Its derivative: tanh x.
// Again by record, with the name "logcosh".
Tensor logcosh(const Tensor& x) {
    return blank("the values without overflow under NoGrad, then record with the rule dy * tanh(x)");
}

// The derivative of f at x by the central difference of order 4:
// f'(x) ≈ (2/3 · (f(x + h) − f(x − h)) − 1/12 · (f(x + 2h) − f(x − 2h))) / h.
double central_difference(const std::function<double(double)>& f, double x, double h) {
    return blank("two differences with the weights 2/3 and -1/12, over h");
}
