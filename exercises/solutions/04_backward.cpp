// Exercise of chapter 4: backward through a graph of single numbers.
//
//     make exercise N=4
//
// The graph is given: each Value knows what it was made from, and its derivative by each of these. Write the
// functions in place of their blanks.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>

#include "exercise.h"

struct Value {
    double data = 0;                             // the number itself
    double gradient = 0;                         // ∂(root)/∂(this), once backward has been here
    std::vector<std::shared_ptr<Value>> inputs;  // what it was made from; none for a leaf
    std::vector<double> derivatives;             // ∂(this)/∂(input), one for each input
};
using Number = std::shared_ptr<Value>;

inline Number make(double data, std::vector<Number> inputs = {}, std::vector<double> derivatives = {}) {
    return std::make_shared<Value>(Value{data, 0, std::move(inputs), std::move(derivatives)});
}
inline Number operator+(const Number& a, const Number& b) { return make(a->data + b->data, {a, b}, {1, 1}); }
inline Number operator*(const Number& a, const Number& b) {
    return make(a->data * b->data, {a, b}, {b->data, a->data});
}
inline Number tanh(const Number& x) {
    const double y = std::tanh(x->data);
    return make(y, {x}, {1 - y * y});
}

// All values that `root` depends on, each once, and each after every value that it is an input of; so `root`
// comes first. (One way: visit the inputs of a value before the value itself, note it down after them, and turn
// the list around at the end.)
std::vector<Value*> visiting_order(const Number& root) {
    std::vector<Value*> order;
    std::set<Value*> seen;
    const std::function<void(Value*)> visit = [&](Value* value) {
        if (!seen.insert(value).second) return;
        for (const Number& input : value->inputs) visit(input.get());
        order.push_back(value);  // after all its inputs
    };
    visit(root.get());
    std::reverse(order.begin(), order.end());
    return order;
}

// Sets `gradient` of every value behind `root`: 1 for the root itself, and for each other value the sum over
// all values that it is an input of, of their derivative by it times their gradient. What an earlier call left
// in `gradient` does not count.
void backward(const Number& root) {
    const std::vector<Value*> order = visiting_order(root);
    for (Value* value : order) value->gradient = 0;
    root->gradient = 1;
    for (Value* value : order)
        for (std::size_t i = 0; i < value->inputs.size(); ++i)
            value->inputs[i]->gradient += value->derivatives[i] * value->gradient;
}

// dy/dx, dy/dw and dy/dv of y = x + v · tanh(w · x), by formula; tanh' = 1 − tanh².
std::vector<double> residual_by_hand(double x, double w, double v) {
    const double t = std::tanh(w * x), slope = 1 - t * t;
    return {1 + v * slope * w, v * slope * x, t};
}
