#include <ctime>

#include "judge.h"
#include FAULT

namespace {

double slope(const std::function<Value(const Value&)>& f, double x) {
    const Value leaf = make(x);
    const Value root = f(leaf);
    backward(root);
    backward(root);  // sets the gradients, whatever they were
    return leaf->grad;
}
Value chain(const Value& x) { return tanh(tanh(make(2) * x)); }
Value shared(const Value& x) {  // s is used twice, and so is r
    const Value s = x * x, r = s + tanh(s);
    return r * r + r;
}
double difference(const std::function<Value(const Value&)>& f, double x) {
    const double h = 1e-5;
    return (f(make(x + h))->value - f(make(x - h))->value) / (2 * h);
}
// shared() of each element, with the gradient of our backward, as an operation of Weft's.
Tensor as_operation(const Tensor& x) {
    Tensor y = zeros_like(x.detach()), slopes = zeros_like(x.detach());
    for (std::int64_t i = 0; i < x.numel(); ++i) {
        y[i].fill_(shared(make(x.detach().at(i)))->value);
        slopes[i].fill_(slope(shared, x.detach().at(i)));
    }
    return record("shared", y, {x}, {slopes},
                  [](const Saved& saved, const Tensor& dy) { return Grads{saved[0] * dy}; });
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "Fault 1. Steep");
    exercise.fault({
        .program = program,
        .planted = "the gradient of what is used twice",
        .look = "The loss goes up before it goes down, although the steps are small. Try backward on a graph "
                "so small that you know the slopes: y = x · x, then z = y + y.",
        .hints = {"Is the gradient right for x·x? For tanh(x·x)? For y + tanh(y), with y = x·x? What is new in "
                  "the last one?",
                  "y has two users there. Count how often pass_on runs for y, and what y.grad is each time.",
                  "A cell must wait until all its users have given their share; then it passes on once. "
                  "in_order knows when that is."},
        .check =
            [] {
                const Tensor x = tensor({0.3, -0.7}, float64).requires_grad_();
                const auto found =
                    check::gradcheck("shared", [](const auto& in) { return as_operation(in[0]); }, {x});
                return "check::gradcheck: " + (found ? "passed" : "FAILED\n" + found.message);
            },
        .test =
            [] {
                expect_equal("the slope of tanh(tanh(2x)) at 0.3", slope(chain, 0.3), difference(chain, 0.3),
                             1e-6);
                expect_equal("the gradient of what is used twice", slope(shared, 0.4), difference(shared, 0.4),
                             1e-6);
                const std::clock_t start = std::clock();
                slope(
                    [](Value x) {
                        for (int i = 0; i < 25; ++i) x = x + x;
                        return x;
                    },
                    1);
                expect(std::clock() - start < CLOCKS_PER_SEC / 20,
                       "the gradient is right, but backward walks every path: through 25 doublings of one "
                       "number, millions");
            },
        .why = "A cell passes its gradient on once, after the last of its users has added to it. The recursion "
               "passed on a first share, then the first and the second together: the earlier shares counted "
               "twice, in a deep graph many times.",
    });
    return exercise.finish();
}
