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
    std::string told;
    for (std::size_t i = 0; i < order.size() && i < 12; ++i) told += (i > 0 ? " " : "") + name_of(order[i]);
    if (order.size() > 12) told += " …";
    const std::string who = "visiting_order gives \"" + told + "\": ";
    expect(order.size() == size,
           who + "that is " + std::to_string(order.size()) + " values, and there are " + std::to_string(size));
    std::map<const Value*, std::size_t> place;
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    expect(place.size() == size, who + "a value stands there twice");
    for (const Value* value : order)
        for (const Number& input : value->inputs) {
            expect(place.count(input.get()) == 1, who + "an input of " + name_of(value) + " is missing");
            expect(place[input.get()] > place[value], who + name_of(input.get()) + " stands before " +
                                                          name_of(value) + ", of which it is an input");
        }
}

}  // namespace

int main(int argc, char** argv) {
    Exercise exercise(argc, argv, "4. The graph and backward");
    exercise.part("visiting_order",
                  "Write a function that visits a value: return if it was seen; visit its inputs; then note it "
                  "down. Begin at the root and reverse the list.",
                  [] {
                      const Graph g;
                      expect_order(g.y, 6, [&](const Value* value) { return g.name_of(value); });
                      const Number one = make(1);
                      expect_order(one, 1, [](const Value*) { return "leaf"; });
                      Number x = one;  // 2¹⁶ paths, 17 values
                      for (int i = 0; i < 16; ++i) x = x + x;
                      expect_order(x, 17, [](const Value*) { return "·"; });
                  });
    exercise.part("backward",
                  "Set all gradients to 0 and the root's to 1. Then go through visiting_order; add to each "
                  "input's gradient, never set it.",
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
                      Number x = make(1);
                      const Number first = x;
                      for (int i = 0; i < 8; ++i) x = x + make(0.5) * x;
                      backward(x);
                      expect_equal("the gradient through 8 residual blocks", first->gradient, std::pow(1.5, 8));
                  });
    exercise.part(
        "residual_by_hand",
        "Write t = tanh(w x) and its derivative by x and by w first. The x that stands alone gives dx "
        "a term of 1.",
        [] {
            for (const auto& [x, w, v] : {std::tuple{0.5, 2.0, 3.0}, {-1.0, 0.3, 0.7}, {0.0, 5.0, 1.0}}) {
                const std::vector<double> got = residual_by_hand(x, w, v);
                expect(got.size() == 3, "residual_by_hand should return three numbers: dx, dw, dv");
                const Tensor tx = tensor(x, float64).requires_grad_(), tw = tensor(w, float64).requires_grad_(),
                             tv = tensor(v, float64).requires_grad_();
                (tx + tv * weft::tanh(tw * tx)).backward();
                const std::string at = " at x " + tx.str() + ", w " + tw.str() + ", v " + tv.str();
                expect_equal("dx" + at, got[0], tx.grad().item());
                expect_equal("dw" + at, got[1], tw.grad().item());
                expect_equal("dv" + at, got[2], tv.grad().item());
            }
        });
    return exercise.finish();
}
