// Step 1: a number that remembers how it was computed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

// Empties the inputs of a node that is being destroyed, in a loop. By default each node would destroy its
// inputs, which destroy theirs: on a chain of a million nodes these nested calls overflow the stack.
template <class Node>
void release(std::vector<std::shared_ptr<Node>>& inputs) {
    std::vector<std::shared_ptr<Node>> released = std::move(inputs);
    while (!released.empty()) {
        const std::shared_ptr<Node> last = std::move(released.back());
        released.pop_back();
        if (last.use_count() == 1)  // nothing else holds it, so it ends here, without its inputs
            for (auto& input : last->inputs) released.push_back(std::move(input));
    }
}

// A number and the computation that made it. Copies of a Value share one node.
struct Value {
    struct Node {
        double data = 0;                            // the number
        double grad = 0;                            // the derivative of the root, which step 2 fills in
        long number = 0;                            // nodes are numbered in the order in which they are made
        std::vector<std::shared_ptr<Node>> inputs;  // empty for a leaf, a number that was not computed
        std::vector<double> slopes;                 // ∂data/∂input for each of them
        ~Node() { release(inputs); }
    };
    std::shared_ptr<Node> node = std::make_shared<Node>();
    Value(double data, std::vector<std::shared_ptr<Node>> inputs = {}, std::vector<double> slopes = {}) {
        static long made = 0;
        node->data = data;
        node->number = made++;
        node->inputs = std::move(inputs);
        node->slopes = std::move(slopes);
    }
    double data() const { return node->data; }
    double grad() const { return node->grad; }
};

inline Value operator+(const Value& a, const Value& b) {
    return {a.data() + b.data(), {a.node, b.node}, {1, 1}};
}
inline Value operator*(const Value& a, const Value& b) {
    return {a.data() * b.data(), {a.node, b.node}, {b.data(), a.data()}};
}
