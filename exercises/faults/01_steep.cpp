// Fault 1. Steep: our own backward, in a few lines, and it learns. With two layers more it explodes.
//
//     make fault N=1             runs this file and judges it; HINT=1 helps, CHECK=1 asks check::
#include <algorithm>
#include <memory>
#include <set>

#include "fault.h"

// A number of a graph: what it was computed from, and its slope with respect to each.
struct Cell {
    double value = 0, grad = 0;
    std::vector<std::pair<std::shared_ptr<Cell>, double>> inputs;
};
using Value = std::shared_ptr<Cell>;

Value make(double value, std::vector<std::pair<Value, double>> inputs = {}) {
    return std::make_shared<Cell>(Cell{value, 0, std::move(inputs)});
}
Value operator+(const Value& a, const Value& b) { return make(a->value + b->value, {{a, 1}, {b, 1}}); }
Value operator*(const Value& a, const Value& b) {
    return make(a->value * b->value, {{a, b->value}, {b, a->value}});
}
Value tanh(const Value& a) { return make(std::tanh(a->value), {{a, 1 - std::pow(std::tanh(a->value), 2)}}); }

// Every node that the root was computed from; the root first.
std::vector<Cell*> in_order(const Value& root) {
    std::vector<Cell*> order;
    std::set<Cell*> seen;
    const std::function<void(Cell*)> visit = [&](Cell* node) {
        if (!seen.insert(node).second) return;
        for (const auto& [input, slope] : node->inputs) visit(input.get());
        order.push_back(node);
    };
    visit(root.get());
    std::reverse(order.begin(), order.end());
    return order;
}
// Adds to each input of the node what the node passes on.
void pass_on(Cell& node) {
    for (const auto& [input, slope] : node.inputs) {
        input->grad += node.grad * slope;
        pass_on(*input);
    }
}
// Sets the gradient of the root with respect to every node.
void backward(const Value& root) {
    for (Cell* node : in_order(root)) node->grad = 0;
    root->grad = 1;
    pass_on(*root);
}

// y = x + w₂ tanh(w₁ x + b), a layer with a residual; three of them learn the curve of a sine.
void program(std::uint64_t seed) {
    Rng rng(seed);
    std::vector<Value> parameters;
    for (int i = 0; i < 9; ++i) parameters.push_back(make(0.5 * randn({}, rng, float64).item()));
    std::vector<double> losses;
    for (int step = 0; step < 400; ++step) {
        Value loss = make(0);
        for (double x = -2; x <= 2; x += 0.25) {
            Value y = make(x);
            for (std::size_t i = 0; i < parameters.size(); i += 3)
                y = y + parameters[i + 2] * tanh(parameters[i] * y + parameters[i + 1]);
            const Value error = y + make(-std::sin(2 * x));
            loss = loss + make(1.0 / 17) * error * error;
        }
        backward(loss);
        for (const Value& parameter : parameters) parameter->value -= 0.02 * parameter->grad;
        losses.push_back(loss->value);
    }
    draw({{'o', "loss", losses}});
}
