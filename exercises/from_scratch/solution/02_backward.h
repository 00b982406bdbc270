// Step 2: the gradients of all numbers from which a result was computed.
#pragma once

#include <iterator>
#include <map>

#include "01_value.h"

// Calls visit(node) for the root and every node that it was computed from, the newest first. A node is older
// than its consumers, so it is visited after all of them.
template <class Node, class Visit>
void newest_first(Node* root, Visit visit) {
    std::map<long, Node*> waiting = {{root->number, root}};  // sorted by number, each node once
    while (!waiting.empty()) {
        const auto newest = std::prev(waiting.end());
        Node* node = newest->second;
        waiting.erase(newest);
        for (const auto& input : node->inputs) waiting.emplace(input->number, input.get());
        visit(node);
    }
}

// Adds ∂root/∂leaf to the grad of every leaf, and sets the grad of every node between root and leaves.
inline void backward(const Value& root) {
    newest_first(root.node.get(), [](Value::Node* node) {
        if (!node->inputs.empty()) node->grad = 0;  // what an earlier backward left
    });
    root.node->grad = 1;
    newest_first(root.node.get(), [](Value::Node* node) {
        for (std::size_t i = 0; i < node->inputs.size(); ++i)
            node->inputs[i]->grad += node->slopes[i] * node->grad;
    });
}
