// Node: a place in the graph. A leaf's node has no inputs and gathers the gradient; another's knows the rule
// that turns its gradient into its inputs'.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/array/array.h"
#include "weft/core/autograd.h"

namespace weft {

// A tensor as it was when it was kept for backward.
struct SavedTensor {
    Array array;
    std::uint64_t version = 0;   // of its storage, at that time
    std::shared_ptr<Node> node;  // null outside the graph, and for the node's own output
    bool is_output = false;      // the node's own: held without its node, or it would own itself
};

struct Node : std::enable_shared_from_this<Node> {
    // The node of a new tensor. Nodes are destroyed one after another, without recursion and without asking for
    // memory: a chain of a million dies on a small stack.
    static std::shared_ptr<Node> make(const char* operation, const Array& output);

    // The kept tensors as they come back for the rule; GraphError when one was changed in place. They are
    // outside the graph, or with `create_graph` each is a variable of its own there, so that a rule may
    // differentiate a function of them: one tensor in two places is two variables, and how one input was made
    // from another is not part of the rule.
    Saved unpack(bool create_graph);
    void release();  // of all that backward needs: another backward is then refused

    const std::uint64_t number;  // larger than those of its inputs: descending numbers are a topological order
    const char* const operation;
    const Shape shape;  // of its output, and so of its gradient
    const DType dtype;

    std::vector<std::shared_ptr<Node>> inputs;  // null for an input outside the graph
    std::vector<SavedTensor> saved;
    Vjp vjp;
    bool is_leaf = true;
    bool is_released = false;

    bool retains_gradient = true;  // leaves do
    Tensor gradient;
    std::vector<std::pair<std::uint64_t, Tensor::Hook>> hooks;
    std::uint64_t next_hook = 0;  // numbers are never given twice

    bool is_alias = false;  // made by unpack: the same tensor as its input

private:
    Node(const char* made_by, const Array& output);
    static void destroy(Node* node) noexcept;
    Node* next_to_delete = nullptr;
};

}  // namespace weft
