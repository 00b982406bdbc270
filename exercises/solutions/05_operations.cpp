// Exercises of chapter 5: an operation is its values and its gradient rule; differences check the rule.
//
//     make exercise N=5          tries what you wrote; make hint N=5 helps
//
// Our solutions. The tasks are numbered as on the page.
#include <cmath>
#include <functional>

#include "exercise.h"

// 1. Predict. (f(x + h) − f(x − h)) / (2h) for f = exp at x = 1, in float64: which step gives the smaller
// error, 1e-5 or 1e-13? Write the step.
inline double error_of_step(double h) {
    return std::abs((std::exp(1 + h) - std::exp(1 - h)) / (2 * h) - std::exp(1));
}
double prediction_of_step() { return 1e-5; }

// 2. Predict. √(x · x) is |x|. What gradient does Weft find at 0: "-1", "0", "1" or "nan"?
inline Tensor root_of_square(const Tensor& x) { return sqrt(x * x); }
std::string prediction_at_zero() { return "nan"; }

// 3. Mend. x³ as an operation of its own. Its values are right, and so is the gradient of its plain sum.
Tensor cube(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = x * x * x;
    }
    return record("cube", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * 3 * saved[0] * saved[0]}; });
}

// 4. Write. x · σ(x), elementwise, with σ(x) = 1 / (1 + e⁻ˣ): the activation of many language models, which
// Weft calls silu. As one operation named "swish", with a gradient rule of its own that can be differentiated
// again.
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

// 5. Write. ln((eˣ + e⁻ˣ) / 2), elementwise, as one operation named "logcosh". It is like x²/2 near 0, and like
// |x| − ln 2 far from it; its values must be finite up to |x| = 1000, where e^|x| is not.
Tensor logcosh(const Tensor& x) {
    Tensor y;
    {
        const NoGrad off;
        y = abs(x) + log(1 + exp(-2 * abs(x))) - std::log(2.0);
    }
    return record("logcosh", y, {x}, {x},
                  [](const Saved& saved, const Tensor& dy) { return Grads{dy * tanh(saved[0])}; });
}

// 6. Write. The derivative of f at x by the central difference of order 4, which weighs the differences at h
// and at 2h so that it makes no error on polynomials up to the fourth degree:
//     (⅔ (f(x + h) − f(x − h)) − 1/12 (f(x + 2h) − f(x − 2h))) / h
double central_difference(const std::function<double(double)>& f, double x, double h) {
    return (2.0 / 3 * (f(x + h) - f(x - h)) - 1.0 / 12 * (f(x + 2 * h) - f(x - 2 * h))) / h;
}

// 7. Paper. The error of (f(x + h) − f(x − h)) / (2h) is at most h²/6 · M, where M bounds |f‴|, plus ε/h, where
// ε bounds the rounding error of f. With M = 3 and ε = 10⁻¹⁵: which h makes the sum smallest, and how large is
// the sum there? Enter both in units of 10⁻⁵ and 10⁻¹⁰: the numbers a and b of h = a · 10⁻⁵ and b · 10⁻¹⁰.
std::vector<double> best_step_on_paper() { return {1, 1.5}; }
