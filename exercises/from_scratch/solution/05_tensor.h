// Step 5: arithmetic of arrays that broadcasts, and tensors: arrays that remember how they were computed.
#pragma once

#include <cmath>
#include <functional>

#include "02_backward.h"
#include "04_array.h"

// ---- arithmetic of arrays

// The shape that both expand to: aligned from the right, where a size of 1 repeats.
inline Shape broadcast(const Shape& a, const Shape& b) {
    if (a.size() < b.size()) return broadcast(b, a);
    Shape shape = a;
    for (std::size_t i = 1; i <= b.size(); ++i) {
        Index& size = shape[shape.size() - i];
        const Index other = b[b.size() - i];
        if (size != other && size != 1 && other != 1)
            throw std::invalid_argument("cannot broadcast " + to_string(a) + " and " + to_string(b));
        if (size == 1) size = other;
    }
    return shape;
}

// f(a, b) for every pair of elements.
template <class F>
Array zip(const Array& a, const Array& b, F f) {
    const Shape shape = broadcast(a.shape, b.shape);
    const std::vector<double> x = a.expand(shape).values(), y = b.expand(shape).values();
    std::vector<double> z(x.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = f(x[i], y[i]);
    return {shape, std::move(z)};
}

inline Array operator+(const Array& a, const Array& b) { return zip(a, b, std::plus<>()); }
inline Array operator-(const Array& a, const Array& b) { return zip(a, b, std::minus<>()); }
inline Array operator-(const Array& a) { return Array::full({}, 0) - a; }
inline Array operator*(const Array& a, const Array& b) { return zip(a, b, std::multiplies<>()); }
inline Array operator/(const Array& a, const Array& b) { return zip(a, b, std::divides<>()); }

// view = f(view, a) in place, for every pair of elements of two arrays of one shape.
template <class F>
void update(const Array& view, const Array& a, F f) {
    const std::vector<Index> to = view.positions();
    const std::vector<double> from = a.values();
    for (std::size_t i = 0; i < to.size(); ++i) (*view.storage)[to[i]] = f((*view.storage)[to[i]], from[i]);
}

// The opposite of expand: adds up what expand would repeat. It adds through the expanded view of the result, in
// which the elements that belong together share one position.
inline Array sum_to(const Array& a, const Shape& shape) {
    if (a.shape == shape) return a;
    const Array sum = Array::full(shape, 0);
    update(sum.expand(a.shape), a, std::plus<>());
    return sum;
}

// ---- tensors

using Grads = std::vector<Array>;                 // one for each input
using Rule = std::function<Grads(const Array&)>;  // from the gradient of the result to those of the inputs

// An array and the computation that made it. Copies of a Tensor share one node.
struct Tensor {
    struct Node {
        Array data;
        Array grad;  // of a leaf: the gradients that backward has brought, added up; undefined before
        bool requires_grad = false;
        long number = 0;                            // nodes are numbered in the order in which they are made
        std::vector<std::shared_ptr<Node>> inputs;  // empty for a leaf
        Rule rule;                                  // none for a leaf
        ~Node() { release(inputs); }
    };
    std::shared_ptr<Node> node = std::make_shared<Node>();
    Tensor(Array data, bool requires_grad = false) {
        static long made = 0;
        node->data = std::move(data);
        node->requires_grad = requires_grad;
        node->number = made++;
    }
    Tensor(double value) : Tensor(Array({}, {value})) {}  // shape ()
    const Array& data() const { return node->data; }
    const Array& grad() const { return node->grad; }
    const Shape& shape() const { return node->data.shape; }
    Index size(Index axis) const { return node->data.size(axis); }
    double item() const { return node->data.at(Shape(node->data.shape.size())); }  // the first element
};

// The result of an operation. It remembers inputs and rule only if an input needs a gradient.
inline Tensor record(Array result, const std::vector<Tensor>& inputs, Rule rule) {
    Tensor y(std::move(result));
    for (const Tensor& input : inputs) y.node->requires_grad |= input.node->requires_grad;
    if (!y.node->requires_grad) return y;
    for (const Tensor& input : inputs) y.node->inputs.push_back(input.node);
    y.node->rule = std::move(rule);
    return y;
}

// Adds ∂root/∂leaf to the grad of every leaf that requires one, where root is the sum of its elements if
// it has several. The nodes between root and leaves give their gradient up once they have passed it on.
inline void backward(const Tensor& root) {
    if (!root.node->requires_grad) throw std::invalid_argument("backward: nothing requires a gradient");
    root.node->grad = Array::full(root.shape(), 1);
    newest_first(root.node.get(), [](Tensor::Node* node) {
        if (!node->rule) return;
        const Grads grads = node->rule(std::exchange(node->grad, {}));
        for (std::size_t i = 0; i < grads.size(); ++i) {
            Tensor::Node& input = *node->inputs[i];
            if (!input.requires_grad) continue;
            const Array d = sum_to(grads[i], input.data.shape);  // if the input was broadcast
            input.grad = input.grad.defined() ? input.grad + d : d;
        }
    });
}

// ---- arithmetic of tensors. A rule's gradients may have the shape of the result: backward sums them.

inline Tensor operator+(const Tensor& a, const Tensor& b) {
    return record(a.data() + b.data(), {a, b}, [](const Array& dz) { return Grads{dz, dz}; });
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
    return record(a.data() - b.data(), {a, b}, [](const Array& dz) { return Grads{dz, -dz}; });
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
    return record(a.data() * b.data(), {a, b}, [x = a.data(), y = b.data()](const Array& dz) {
        return Grads{dz * y, dz * x};
    });
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
    const Array z = a.data() / b.data();
    return record(z, {a, b}, [z, y = b.data()](const Array& dz) {
        return Grads{dz / y, -dz * z / y};  // ∂(x/y)/∂y = −x/y² = −z/y
    });
}
