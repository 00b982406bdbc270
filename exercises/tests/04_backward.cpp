#include "exercise.h"
#include EXERCISE

namespace {

// Leaves a, b, w and what chapter 4 makes of them.
struct Graph {
    Number a = make(2), b = make(5), w = make(3), x = a * b, h = w * x, y = x + h;
    std::string name_of(const Value* value) const {
        const std::pair<const char*, Number> names[] = {{"a", a}, {"b", b}, {"w", w},
                                                        {"x", x}, {"h", h}, {"y", y}};
        for (const auto& [name, number] : names)
            if (number.get() == value) return name;
        return "?";
    }
};

void expect_order(const Number& root, std::size_t size,
                  const std::function<std::string(const Value*)>& name_of) {
    const std::vector<Value*> order = visiting_order(root);
    std::string names;
    for (std::size_t i = 0; i < order.size() && i < 12; ++i) names += (i > 0 ? " " : "") + name_of(order[i]);
    if (order.size() > 12) names += " …";
    const std::string found = "visiting_order gives \"" + names + "\": ";
    expect(order.size() == size, found + "that is " + std::to_string(order.size()) + " values, and there are " +
                                     std::to_string(size));
    std::map<const Value*, std::size_t> position;
    for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    expect(position.size() == size, found + "a value occurs twice");
    for (const Value* value : order)
        for (const Number& input : value->inputs) {
            expect(position.count(input.get()) == 1, found + "an input of " + name_of(value) + " is missing");
            expect(position[input.get()] > position[value], found + name_of(input.get()) + " comes before " +
                                                                name_of(value) + ", of which it is an input");
        }
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "4. The graph and backward");
    exercise.predict(
        "prediction_of_two_calls", prediction_of_two_calls, two_calls,
        "Each call of backward adds dy/dx = 6 to the gradient that is there.",
        {"What does one call leave in x.grad()?", "Nothing clears the gradient between the two calls."});
    exercise.predict("prediction_of_half_detached", prediction_of_half_detached, half_detached,
                     "For backward the detached factor is a plain number, so only the other one has a slope.",
                     {"The product rule has two terms, one for each factor.",
                      "x.detach() has the value 3, and no connection to x."});
    exercise.mend(
        "slopes_at", "the slope of x² at the second point",
        {"Call it with x² at 1, 2 and 3, and compare with 2, 4 and 6.",
         "The second number is the sum of two slopes: where does it come from?",
         "One call is missing in the loop; chapter 4 says what backward does with a gradient that is there."},
        [] {
            const std::vector<double> one = slopes_at([](const Tensor& x) { return x * x; }, {3});
            expect(one.size() == 1, "slopes_at should give a slope for each point");
            expect_equal("the slope of x² at 3, the only point,", one[0], 6);
            const std::vector<double> got = slopes_at([](const Tensor& x) { return x * x; }, {1, 2, -3});
            expect(got.size() == 3, "slopes_at should give a slope for each of three points");
            expect_equal("the slope of x² at 1", got[0], 2);
            expect_equal("the slope of x² at the second point, 2,", got[1], 4);
            expect_equal("the slope of x² at the third point, -3,", got[2], -6);
            expect(slopes_at([](const Tensor& x) { return x * x; }, {}).empty(),
                   "slopes_at should give nothing for no points");
        });
    exercise.write("visiting_order",
                   {"When is it safe to note a value down: before its inputs are noted down, or after them?",
                    "Note each value down after all its inputs; then turn the list around. A set of the values "
                    "seen so far keeps each from being visited twice.",
                    "A recursive function: return if the value was seen before; visit each input; then "
                    "push_back the value. Call it with root.get() and std::reverse the list."},
                   [] {
                       const Graph g;
                       expect_order(g.y, 6, [&](const Value* value) { return g.name_of(value); });
                       const Number one = make(1);
                       expect_order(one, 1, [](const Value*) { return "leaf"; });
                       Number x = one;  // 2²⁰ paths, 21 values
                       for (int i = 0; i < 20; ++i) x = x + x;
                       expect_order(x, 21, [](const Value*) { return "·"; });
                   });
    exercise.write("backward",
                   {"In which order must the values pass their gradients on? Task 4 gives it.",
                    "Each value adds derivative · gradient to each of its inputs. A value with two consumers "
                    "receives twice.",
                    "First set all gradients to 0 and the root's to 1. Then, in visiting_order, for each input "
                    "i: inputs[i]->gradient += derivatives[i] * gradient."},
                   [] {
                       const Graph g;
                       backward(g.y);
                       expect_equal("dy/dx, where two edges meet,", g.x->gradient, 4);
                       expect_equal("dy/da", g.a->gradient, 20);
                       expect_equal("dy/db", g.b->gradient, 8);
                       expect_equal("dy/dw", g.w->gradient, 10);
                       backward(g.y);
                       expect_equal("dy/da after a second backward", g.a->gradient, 20);
                       const Number a = make(2), b = make(3);
                       backward((a + b) + a);
                       expect_equal("the gradient of a in (a + b) + a", a->gradient, 2);
                       expect_equal("the gradient of b in (a + b) + a", b->gradient, 1);
                       const Number s = make(3);
                       backward(s * s);
                       expect_equal("the gradient of x in x * x, x = 3,", s->gradient, 6);
                       const Number u = make(0.5);
                       backward(u + tanh(make(2) * u));  // 1 + 2 (1 − tanh² 1)
                       expect_equal("the gradient of x in x + tanh(2 x), x = 1/2,", u->gradient,
                                    3 - 2 * std::tanh(1) * std::tanh(1));
                       Number x = make(1);
                       const Number first = x;
                       for (int i = 0; i < 8; ++i) x = x + make(0.5) * x;
                       backward(x);
                       expect_equal("the gradient through 8 residual blocks", first->gradient,
                                    std::pow(1.5, 8));
                   });
    const Tensor a = tensor(2.0, float64).requires_grad_(), b = tensor(-1.0, float64).requires_grad_(),
                 c = tensor(3.0, float64).requires_grad_();
    const Tensor d = a * b, e = d + c;
    (e * e + d * a).backward();
    exercise.paper("gradients_on_paper", gradients_on_paper,
                   {{"dy/da", a.grad().item()}, {"dy/db", b.grad().item()}, {"dy/dc", c.grad().item()}},
                   {"Go from y to the leaves: dy/de and dy/dd first.",
                    "d has two consumers, e and the product d a; dy/dd is the sum of what comes from both.",
                    "dy/de = 2e = 2 and dy/dd = dy/de + a = 4. a, too, has two consumers."});
    return exercise.finish();
}
