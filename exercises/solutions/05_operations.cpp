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
    Tensor y;
    {
        NoGrad off;
        y = x * sigmoid(x);
    }
    return record("swish", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
        const Tensor s = sigmoid(saved[0]);
        return Grads{dy * s * (1 + saved[0] * (1 - s))};
    });
}

// logcosh(x) = ln((eˣ + e⁻ˣ) / 2), elementwise: like x²/2 near 0, like |x| − ln 2 far from it. As it stands
// there it overflows; |x| + ln(1 + e^(−2|x|)) − ln 2 is the same value and does not. Its derivative: tanh x.
// Again by record, with the name "logcosh".
Tensor logcosh(const Tensor& x) {
    Tensor y;
    {
        NoGrad off;
        y = abs(x) + log(1 + exp(-2 * abs(x))) - std::log(2.0);
    }
    return record("logcosh", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * tanh(saved[0])}; });
}

// The derivative of f at x by the central difference of order 4:
// f'(x) ≈ (2/3 · (f(x + h) − f(x − h)) − 1/12 · (f(x + 2h) − f(x − 2h))) / h.
double central_difference(const std::function<double(double)>& f, double x, double h) {
    return (2.0 / 3 * (f(x + h) - f(x - h)) - 1.0 / 12 * (f(x + 2 * h) - f(x - 2 * h))) / h;
}
