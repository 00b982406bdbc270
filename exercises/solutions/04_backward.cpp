// Exercises of chapter 4: backward through a graph of single numbers.
//
//     make exercise N=4          tries what you wrote; make hint N=4 helps
//
// Our solutions. The tasks are numbered as on the page.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>

#include "exercise.h"

// 1. Predict. Read the function, write down what it returns, and only then run it.
inline double two_calls() {
    const Tensor x = tensor(3.0, float64).requires_grad_();
    (x * x).backward();
    (x * x).backward();
    return x.grad().item();
}
double prediction_of_two_calls() { return 12; }

// 2. Predict, likewise.
inline double half_detached() {
    const Tensor x = tensor(3.0, float64).requires_grad_();
    (x * x.detach()).backward();
    return x.grad().item();
}
double prediction_of_half_detached() { return 3; }

// 3. Mend. The slope of f at each of the points, in their order. f maps a number () to a number (). The slope
// at the first point is right; something is wrong with the others.
std::vector<double> slopes_at(const std::function<Tensor(const Tensor&)>& f,
                              const std::vector<double>& points) {
    std::vector<double> slopes;
    Tensor x = zeros({}, float64).requires_grad_();
    for (const double point : points) {
        {
            const NoGrad off;
            x.fill_(point);
        }
        x.zero_grad();
        f(x).backward();
        slopes.push_back(x.grad().item());
    }
    return slopes;
}

// A graph of single numbers, for tasks 4 and 5. Each Value knows its inputs, and its derivative by each.
struct Value {
    double data = 0;                             // the number itself
    double gradient = 0;                         // ∂(root)/∂(this), which task 5 computes
    std::vector<std::shared_ptr<Value>> inputs;  // what it was computed from; none for a leaf
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

// 4. Write. All values that `root` depends on, itself included: each once, and each before all of its inputs.
// A value may be reached by very many paths; the time taken must not grow with their number.
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

// 5. Write. Sets `gradient` of every value that `root` depends on to ∂(root)/∂(value). What an earlier call
// left there does not count.
void backward(const Number& root) {
    const std::vector<Value*> order = visiting_order(root);
    for (Value* value : order) value->gradient = 0;
    root->gradient = 1;
    for (Value* value : order)
        for (std::size_t i = 0; i < value->inputs.size(); ++i)
            value->inputs[i]->gradient += value->derivatives[i] * value->gradient;
}

// 6. Paper. With a = 2, b = −1 and c = 3:  d = a b,  e = d + c,  y = e² + d a.  Draw the graph and work out
// dy/da, dy/db and dy/dc, in this order. Then try your backward on it.
std::vector<double> gradients_on_paper() { return {-6, 8, 2}; }
