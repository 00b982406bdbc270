// The graph: Node, a node of it, and TensorImpl, what a Tensor is a handle to. The node of a leaf has no inputs
// and holds the gradient; every other node has a gradient rule. A Value of micrograd is both: its data is the
// TensorImpl's array, and _prev, _backward and grad are the Node's inputs, vjp and gradient. In PyTorch's
// words, a Node is a grad_fn, or for a leaf its AccumulateGrad. A node has one output; the second result of
// max, its indices, is outside the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/array.h"
#include "core/kernels.h"
#include "weft/core/modes.h"
#include "weft/core/record.h"

namespace weft {

// The derivative of a tensor in the direction of a jvp, which has this number.
struct Tangent {
    std::uint64_t jvp;
    Tensor value;           // of the tensor's shape and type
    std::uint64_t version;  // of the tensor's storage, whose values it belongs to
};
using Tangents = std::vector<Tangent>;

// A tensor saved for backward. What a rule sees of it:     without create_graph    with it
//     an input in the graph (node)                          constant                an alias of its node
//     the result (is_output)                                constant                an alias of the saving node
//     neither, but floating (is_derived)                    constant                a leaf that may not be
//     computed with anything else                                         constant                constant
struct SavedTensor {
    Array array;                 // has no storage if the tensor was undefined
    std::uint64_t version = 0;   // version of the storage when it was saved
    std::shared_ptr<Node> node;  // null outside the graph, and for the node's own output
    bool is_output = false;      // the node's own output: saved without its node, which would own itself
    bool is_derived = false;     // see is_derived()
    Tangents tangents = {};      // for a gradient that a running jvp differentiates
};

struct LeafOwner;

struct Node : std::enable_shared_from_this<Node> {
    // The node of a new tensor. Nodes are destroyed iteratively and without allocating, so a chain of a million
    // can be freed on a small stack.
    static std::shared_ptr<Node> make(const char* operation, const Array& output);

    // The saved tensors for the rule; GraphError if one was changed in place. They are outside the graph. With
    // create_graph each is a variable of its own (an alias), so a rule may differentiate a function of them:
    // one tensor saved twice is two variables, and the rule does not see how inputs depend on each other.
    Saved unpack(bool create_graph);
    bool has_saved(const Tensor& x) const;  // whether a saved tensor shares x's memory
    void release();                         // frees what backward needs, so another backward is refused

    const std::uint64_t number;  // larger than its inputs' numbers: descending order is topological
    const char* const operation;
    const Shape shape;  // shape of its output, and so of its gradient
    const DType dtype;

    std::vector<std::shared_ptr<Node>> inputs;  // null for an input outside the graph
    std::vector<SavedTensor> saved;
    Vjp vjp;
    bool is_leaf = true;
    bool is_alias = false;    // made by variable_of, with the values of its input
    bool is_derived = false;  // made by unpack of a tensor that is: nothing may be computed with it
    bool is_released = false;

    bool retains_gradient = true;  // leaves do
    Tensor gradient;
    std::vector<std::pair<std::uint64_t, Tensor::Hook>> hooks;
    std::uint64_t next_hook = 0;           // never reused
    std::weak_ptr<const LeafOwner> owner;  // a leaf's: see set_owner

private:
    Node(const char* made_by, const Array& output);
    static void destroy(Node* node) noexcept;
    Node* next_to_delete = nullptr;
};

// A new number, larger than those of all nodes before.
std::uint64_t next_number();

// The nodes in `stack` and all that they were computed from, by number, so inputs come before what uses them.
// Null pointers and nodes numbered below `lowest` are left out.
std::map<std::uint64_t, Node*> ancestors(std::vector<Node*> stack, std::uint64_t lowest = 0);

struct TensorImpl {
    Array array;
    std::shared_ptr<Node> node;  // null outside the graph
    // Of a leaf after requires_grad_(false), for the next requires_grad_().
    std::shared_ptr<Node> disabled_node = {};
    Tangents tangents = {};  // one for each jvp, running or not, that the tensor depends on
};

// x's values and tangents as a variable: of its own or, with a source, an alias of what the source computed.
Tensor variable_of(const Array& x, std::shared_ptr<Node> source, Tangents tangents);
// x's values and tangents outside the graph.
Tensor without_node(const Tensor& x);

// The operation whose gradient rule or definition is itself differentiated, while that runs. Reading the
// elements of what moves, or computing with a saved tensor of unknown dependence, is then refused, because the
// result would be taken for a constant.
constinit inline thread_local const char* differentiated_rule = nullptr;
// Whether g, which the rule of `operation` made of the variable dy, depends on it in the graph. GraphError
// unless it does, or is 0; `by` names who differentiates the rule.
bool depends_on_dy(const char* operation, const char* by, const Tensor& g, const Tensor& dy);
// GraphError if x is in the graph or moves, in a rule that is differentiated.
void check_may_read(const char* function, const Tensor& x);
// Whether a saved tensor was computed on the way: how it depends on the inputs is then lost.
bool is_derived(const Tensor& x, const Tensor& y, const std::vector<Tensor>& inputs);

// Forward mode, which src/derive attaches: while one runs on this thread, record tells the innermost of each
// result that depends on a tensor with tangents, and nodes below a number are constants.
struct ForwardMode {
    virtual void computed(const char* operation, const Tensor& y, const std::vector<Tensor>& inputs,
                          const std::vector<Tensor>& saved, const Vjp& vjp, const Jvp& own_rule) = 0;
    const std::uint64_t constants_below;

protected:
    explicit ForwardMode(std::uint64_t constants_below) : constants_below(constants_below) {}
    ~ForwardMode() = default;
};
constinit inline thread_local ForwardMode* forward_mode = nullptr;
inline std::uint64_t constants_below() { return forward_mode == nullptr ? 0 : forward_mode->constants_below; }

// Whether what is computed now has tangents.
inline bool is_forward_mode() { return forward_mode != nullptr && is_grad_enabled(); }
// Whether x has one, in a mode that computes them.
inline bool has_tangent(const Tensor& x) {
    return x.defined() && is_forward_mode() && !x.impl().tangents.empty();
}
// In place of a tangent rule: the gradient rule is one. (src/derive asks whether a rule is this.)
struct Symmetric {
    Tensor operator()(const Saved&, const std::vector<Tensor>&) const { return {}; }  // never called
};
// a + b as a new tensor; the engine is below ops.
Tensor sum_of(const Tensor& a, const Tensor& b);
// For a rule that computes y again from its inputs, the first n saved tensors: those inputs, as new leaves or,
// under create_graph, as the variables that they are; and the gradients of the y that was computed.
std::vector<Tensor> inputs_again(const Saved& saved, std::size_t n);
Grads gradients_again(const Tensor& y, const std::vector<Tensor>& inputs, const Saved& saved, const Tensor& dy,
                      bool create_graph);

// Throws unless g has the shape and type of the node's output; `what` begins the message.
void check_gradient(const Tensor& g, const Node& node, const auto&... what) {
    if (g.shape() != node.shape)
        throw ShapeError(what..., " has shape ", g.shape(), ", but the tensor has ", node.shape,
                         "; a gradient has its tensor's shape (sum_to undoes broadcasting)");
    if (g.dtype() != node.dtype)
        throw DTypeError(what..., " is ", name(g.dtype()), ", but the tensor is ", name(node.dtype),
                         "; convert it with to()");
}

// Throws unless a rule returned a gradient for each input.
void check_count(const char* operation, std::size_t gradients, std::size_t inputs);

// Whether both have values, in one storage.
inline bool share_memory(const Array& a, const Tensor& b) {
    return a.storage && a.storage == b.impl().array.storage;
}
inline bool share_memory(const Tensor& a, const Tensor& b) {
    return a.defined() && share_memory(a.impl().array, b);
}

// The checks of every in-place operation on x, reading `other`.
void check_in_place(const char* operation, const Tensor& x, const Tensor* other = nullptr);

// Promotion: bool → int64 → float32 or float64, and bfloat16 or float16 → float32 or float64, if the type holds
// every element; float32 and float64 do not mix.
bool promotes(DType from, DType to);
// DTypeError that names the operand to convert.
[[noreturn]] void throw_unmixable(const char* operation, const Tensor& a, const Tensor& b);
// x in a type that it promotes to; x itself if it has that type. DTypeError for the first element that it does
// not hold.
Tensor promoted(const char* operation, const Tensor& x, DType to);

using kernels::copy_of, kernels::filled;

}  // namespace weft
