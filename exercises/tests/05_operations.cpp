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
    Tensor x = randn({2, 3}, rng, float64).requires_grad_();
    const std::string made_by = operation_of(operation(x));
    expect(made_by == name,
           name + "(x) was made by the operation \"" + made_by + "\", and should be made by \"" + name +
               "\": compute the values under NoGrad, and pass them to record(\"" + name + "\", …)");
    expect_gradient(name, function_of(operation), {x});
    const check::GradcheckReport second = check::gradgradcheck(name, function_of(operation), {x});
    expect(second.passed, "the gradient is right, but not the gradient of the gradient: " + second.message);
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "5. Writing an operation");
    exercise.part("swish", "y = x · s: the product rule gives s + x · s', and s' = s · (1 − s).", [] {
        expect_equal("swish of (-1, 0, 2)", swish(tensor({-1, 0, 2}, float64)),
                     tensor({-0.2689414213699951, 0, 1.7615941559557649}, float64));
        expect_rule("swish", swish);
    });
    exercise.part("logcosh", "e^(−2|x|) is never above 1. The rule needs x only, and its tanh is Weft's own.",
                  [] {
                      expect_equal("logcosh of (-1, 0, 2)", logcosh(tensor({-1, 0, 2}, float64)),
                                   tensor({0.4337808304830271, 0, 1.3250027473578645}, float64));
                      expect_equal("logcosh of (1000, -1000)", logcosh(tensor({1000, -1000}, float64)),
                                   tensor({999.3068528194401, 999.3068528194401}, float64));
                      expect_rule("logcosh", logcosh);
                  });
    exercise.part(
        "central_difference",
        "f(x + h) − f(x − h) has the weight 2/3, f(x + 2h) − f(x − 2h) the weight −1/12, and all of it "
        "is divided by h.",
        [] {
            expect_equal("central_difference of x² at 3 with h = 1/2",
                         central_difference([](double x) { return x * x; }, 3, 0.5), 6);
            expect_equal("central_difference of x⁴ at 2 with h = 1/2, where order 4 makes no error,",
                         central_difference([](double x) { return x * x * x * x; }, 2, 0.5), 32);
            expect_equal("central_difference of sin at 0 with h = 1/1024",
                         central_difference([](double x) { return std::sin(x); }, 0, 1.0 / 1024), 1);
        });
    return exercise.finish();
}
