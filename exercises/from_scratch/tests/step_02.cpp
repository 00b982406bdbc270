// Tests of step 2.
#include "02_backward.h"
#include "check.h"

int main() {
    Step step(2, "backward, and the order that matters");

    step.claim("a sum sends its gradient to both inputs", "input->grad += slope * node->grad, for every input.",
               [] {
                   const Value a = 2, b = 5, sum = a + b;
                   backward(sum);
                   expect_equal("d(a + b)/da", a.grad(), 1);
                   expect_equal("d(a + b)/db", b.grad(), 1);
               });
    step.claim("a product sends each factor the other one", "The slopes are already there.", [] {
        const Value a = 2, b = 5, product = a * b;
        backward(product);
        expect_equal("d(a b)/da", a.grad(), 5);
        expect_equal("d(a b)/db", b.grad(), 2);
    });
    step.claim("gradients that arrive by several paths are added", "Use +=, not =.", [] {
        const Value x = 3, cube = x * x * x;
        backward(cube);
        expect_equal("d(x x x)/dx at 3", x.grad(), 27);
    });
    step.claim("a node passes its gradient on only when all of it has arrived",
               "Visit the newest of the waiting nodes, not the one that has waited longest.", [] {
                   const Value a = 2, b = 5, w = 3;
                   const Value x = a * b, h = w * x, y = x + h;
                   backward(y);
                   expect_equal("dy/dx", x.grad(), 4);
                   expect_equal("dy/da", a.grad(), 20);
                   expect_equal("dy/db", b.grad(), 8);
                   expect_equal("dy/dw", w.grad(), 10);
               });
    step.claim("each node is visited once", "std::map holds a number once; a visited node must not come back.",
               [] {
                   Value x = 1;
                   const Value first = x;
                   for (int i = 0; i < 50; ++i) x = x + x;  // 2⁵⁰ paths lead from x to first
                   int visits = 0;
                   newest_first(x.node.get(), [&](Value::Node*) { ++visits; });
                   expect_equal("the number of visits in a graph of 51 nodes", visits, 51);
                   backward(x);
                   expect_equal("the gradient", first.grad(), std::pow(2.0, 50));
               });
    step.claim("leaves accumulate over several backwards, and other nodes do not",
               "Set the grad of every node that has inputs to 0 before the walk.", [] {
                   const Value x = 3, square = x * x, y = 2 * square;
                   backward(y);
                   backward(y);
                   expect_equal("dy/d(x x) after two backwards", square.grad(), 2);
                   expect_equal("dy/dx after two backwards", x.grad(), 24);
               });
    step.claim(
        "gradients agree with differences", "Compare (f(x + h) - f(x - h)) / 2h by hand for one input.", [] {
            const auto f = [](const Value& x, const Value& y) { return x * y * (x + 3 * y) + y * y + 7; };
            const double h = 1e-5;
            for (const double at : {-1.5, 0.3, 2.0}) {
                const Value x = at, y = 1 - at;
                backward(f(x, y));
                expect_equal("df/dx", x.grad(), (f(at + h, y).data() - f(at - h, y).data()) / (2 * h), 1e-7);
                expect_equal("df/dy", y.grad(), (f(x, 1 - at + h).data() - f(x, 1 - at - h).data()) / (2 * h),
                             1e-7);
            }
        });
    step.claim("a chain of 300000 nodes does not overflow the stack", "Walk in a loop; do not recurse.", [] {
        const Value x = 1;
        Value sum = 0;
        for (int i = 0; i < 300000; ++i) sum = sum + x;
        backward(sum);
        expect_equal("d(x + … + x)/dx", x.grad(), 300000);
    });

    step.example([] {
        const Value a = 2, b = 5, w = 3;
        const Value x = a * b, h = w * x, y = x + h;
        backward(y);
        std::printf("The gradients of y = x + w x with x = a b:\n");
        std::printf("    dy/dx %g, dy/dh %g, dy/da %g, dy/db %g, dy/dw %g\n", x.grad(), h.grad(), a.grad(),
                    b.grad(), w.grad());
    });
    return step.finish();
}
