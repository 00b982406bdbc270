// Tests of step 3.
#include "03_neuron.h"
#include "check.h"

int main() {
    Step step(3, "functions, a neuron, and two moons learned");

    step.claim("a difference has the slopes 1 and -1", "d(a - b)/db = -1.", [] {
        const Value a = 2, b = 5, difference = a - b;
        backward(difference);
        expect_equal("(a - b).data()", difference.data(), -3);
        expect_equal("d(a - b)/da", a.grad(), 1);
        expect_equal("d(a - b)/db", b.grad(), -1);
    });
    step.claim("the slope of tanh is 1 - tanh squared", "Use the result y: the slope is 1 - y * y.", [] {
        const Value x = 0.5, y = tanh(x);
        backward(y);
        expect_equal("tanh(0.5)", y.data(), std::tanh(0.5));
        expect_equal("its slope at 0.5", x.grad(), 1 / (std::cosh(0.5) * std::cosh(0.5)));
    });
    step.claim("Random draws the same numbers everywhere", "Use std::mt19937, and no std distribution.", [] {
        Random random(1);
        expect_equal("the first uniform() of Random(1)", random.uniform(), 1791095845.5 / 4294967296.0, 1e-15);
        double sum = 0, squares = 0;
        for (int i = 0; i < 10000; ++i) {
            const double x = random.normal();
            sum += x;
            squares += x * x;
        }
        expect_equal("the mean of 10000 normal()", sum / 10000, 0, 0.03);
        expect_equal("their mean square", squares / 10000, 1, 0.05);
    });
    step.claim("the moons are half circles, one of them upside down", "Moon 1 is (1 - cos, 0.5 - sin).", [] {
        Random random(5);
        double up = 0, down = 0;
        for (const Point& p : two_moons(400, random)) {
            const double x = p.moon == 0 ? p.x : 1 - p.x, y = p.moon == 0 ? p.y : 0.5 - p.y;
            expect(std::abs(std::hypot(x, y) - 1) < 0.5, "A point is far from its half circle.");
            (p.moon == 0 ? up : down) += p.y / 200;
        }
        expect_equal("the mean height of moon 0", up, 2 / pi, 0.1);
        expect_equal("the mean height of moon 1", down, 0.5 - 2 / pi, 0.1);
    });
    step.claim("a neuron is tanh(w x + b)", "The last of its weights is b.", [] {
        Random random(2);
        const Neuron neuron(2, random);
        expect_equal("the number of weights of a neuron with 2 inputs",
                     static_cast<double>(neuron.weights.size()), 3);
        neuron.weights[0].node->data = 0.5;
        neuron.weights[1].node->data = -1;
        neuron.weights[2].node->data = 0.1;
        expect_equal("tanh(0.5 · 2 - 1 · 3 + 0.1)", neuron({2, 3}).data(), std::tanh(-1.9));
    });
    step.claim("a net has all weights of all neurons as its parameters", "2·8 + 8, 8·8 + 8 and 8 + 1 of them.",
               [] {
                   Random random(3);
                   const Net net({2, 8, 8, 1}, random);
                   expect_equal("their number", static_cast<double>(net.parameters.size()), 105);
                   backward(net({0.3, -0.2}));
                   for (const Value& p : net.parameters) {
                       const double h = 1e-5, gradient = p.grad(), value = p.data();
                       p.node->data = value + h;
                       const double above = net({0.3, -0.2}).data();
                       p.node->data = value - h;
                       const double below = net({0.3, -0.2}).data();
                       p.node->data = value;
                       expect_equal("the gradient of a parameter", gradient, (above - below) / (2 * h), 1e-7);
                   }
               });
    return step.finish();
}
