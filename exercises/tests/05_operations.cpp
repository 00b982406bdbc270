#include "exercise.h"

#include EXERCISE

#include <cmath>

namespace {

using Operation = Tensor (*)(const Tensor&);

check::Function function_of(Operation operation) {
    return [operation](const std::vector<Tensor>& x) { return operation(x[0]); };
}

// The graph holds the operation itself, its rule is right, and so is the rule's own gradient.
void expect_rule(const std::string& name, Operation operation) {
    Rng rng(5);
    const Tensor x = randn({2, 3}, rng, float64).requires_grad_();
    const std::string made_by = operation_of(operation(x));
    expect(made_by == name,
           name + "(x) was made by the operation \"" + made_by + "\", and should be made by \"" + name +
               "\": compute the values under NoGrad, and pass them to record(\"" + name + "\", …)");
    expect_gradient(name, function_of(operation), {x});
    const check::GradcheckReport second = check::gradgradcheck(name, function_of(operation), {x});
    expect(second.passed, "the gradient is right, but not the gradient of the gradient: " + second.message);
}

// a of h = a · 10⁻⁵ where h²/6 · M + ε/h is smallest, and b of that sum, b · 10⁻¹⁰.
std::pair<double, double> best_step(double M, double epsilon) {
    const double h = std::cbrt(3 * epsilon / M);
    return {h * 1e5, (h * h / 6 * M + epsilon / h) * 1e10};
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "5. Writing an operation");
    exercise.predict(
        "prediction_of_step", prediction_of_step,
        [] { return error_of_step(1e-5) < error_of_step(1e-13) ? 1e-5 : 1e-13; },
        "With 1e-13 the two values differ in their last few digits only, and their rounding error is divided "
        "by 2e-13.",
        {"How many digits do f(x + h) and f(x - h) have in common?",
         "The error has two parts: one shrinks with h, the other grows."},
        0);
    exercise.predict("prediction_at_zero", prediction_at_zero,
                     [] {
                         const Tensor x = tensor(0.0, float64).requires_grad_();
                         root_of_square(x).backward();
                         const double slope = x.grad().item();
                         return std::isnan(slope) ? std::string("nan")
                                                  : std::to_string(static_cast<int>(slope));
                     },
                     "The root has an infinite slope at 0, and its square a slope of 0: the chain rule "
                     "multiplies them, and 0 · ∞ is NaN.",
                     {"The chain rule multiplies two slopes. What are they at x = 0?"});
    exercise.mend(
        "cube", "gradcheck of cube",
        {"The gradient of sum(cube(x)) is right, the gradient of sum(2 * cube(x)) is not.",
         "A rule is given the gradient of the result. What does this one do with it?", "Multiply by dy."},
        [] {
            expect_equal("cube of (1, -2)", cube(tensor({1, -2}, float64)), tensor({1, -8}, float64));
            expect_rule("cube", cube);
        });
    exercise.write("swish",
                   {"Two parts: the values, without a graph, and the rule, which record stores.",
                    "The product rule on x · s with s = σ(x): s + x · s′, and s′ = s (1 - s).",
                    "y = x * sigmoid(x) under NoGrad; the rule returns Grads{dy * s * (1 + x * (1 - s))}, with "
                    "x = saved[0] and s = sigmoid(x)."},
                   [] {
                       expect_equal("swish of (-1, 0, 2)", swish(tensor({-1, 0, 2}, float64)),
                                    tensor({-0.2689414213699951, 0, 1.7615941559557649}, float64));
                       expect_rule("swish", swish);
                   });
    exercise.write(
        "logcosh",
        {"Take the larger of eˣ and e⁻ˣ out of the logarithm.",
         "With |x| taken out, ln(1 + e^(-2|x|)) is left, whose exponential is never above 1.",
         "The values are abs(x) + log(1 + exp(-2 * abs(x))) - std::log(2.0). The derivative is tanh x."},
        [] {
            expect_equal("logcosh of (-1, 0, 2)", logcosh(tensor({-1, 0, 2}, float64)),
                         tensor({0.4337808304830271, 0, 1.3250027473578645}, float64));
            expect_equal("logcosh of (1000, -1000)", logcosh(tensor({1000, -1000}, float64)),
                         tensor({999.3068528194401, 999.3068528194401}, float64));
            expect_rule("logcosh", logcosh);
        });
    exercise.write("central_difference",
                   {"Two differences, each with its weight, and one division.",
                    "In C++ 2 / 3 is a division of whole numbers."},
                   [] {
                       expect_equal("central_difference of x² at 3 with h = 1/2",
                                    central_difference([](double x) { return x * x; }, 3, 0.5), 6);
                       expect_equal("central_difference of x⁴ at 2 with h = 1/2, where order 4 makes no error,",
                                    central_difference([](double x) { return x * x * x * x; }, 2, 0.5), 32);
                       expect_equal("central_difference of sin at 0 with h = 1/1024",
                                    central_difference([](double x) { return std::sin(x); }, 0, 1.0 / 1024), 1);
                   });
    const auto [a, b] = best_step(3, 1e-15);
    exercise.paper("best_step_on_paper", best_step_on_paper,
                   {{"h in units of 10⁻⁵", a}, {"the error in units of 10⁻¹⁰", b}},
                   {"Where the sum is smallest, its derivative by h is 0.", "h/3 · M - ε/h² = 0, so h³ = 3ε/M.",
                    "h³ = 10⁻¹⁵. Put that h into both parts of the sum."},
                   1e-3);
    return exercise.finish();
}
