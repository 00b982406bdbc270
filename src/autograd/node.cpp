// How an operation enters the graph (record), and what backward gets back of it (unpack).
#include "autograd/node.h"

#include <atomic>

#include "weft/autograd/profile.h"

namespace weft {
namespace {
std::atomic<std::uint64_t> last_number{0};
thread_local bool enabled = true;
thread_local bool composed = false;
}  // namespace

bool is_grad_enabled() { return enabled; }
GradMode::GradMode(bool on) : mode_(enabled, on) {}

bool composed_mode() { return composed; }
Composed::Composed(bool on) : mode_(composed, on) {}

Node::Node(const char* made_by, const Array& output)
    : number(++last_number), operation(made_by), shape(output.shape), dtype(output.dtype) {}

std::shared_ptr<Node> Node::make(const char* operation, const Array& output) {
    return {new Node(operation, output), destroy};
}

void Node::destroy(Node* node) noexcept {
    thread_local Node* to_delete = nullptr;
    thread_local bool deleting = false;
    node->next_to_delete = to_delete;
    to_delete = node;
    if (deleting) return;  // called by a delete in the loop below, which will reach this node
    deleting = true;
    while (to_delete != nullptr) {
        const Node* const last = to_delete;
        to_delete = last->next_to_delete;
        delete last;
    }
    deleting = false;
}

const Tensor& Saved::operator[](std::size_t i) const {
    if (i >= tensors_.size())
        throw IndexError("Saved: no tensor ", i, " of ", tensors_.size(), "; name it in save_for_backward");
    return tensors_[i];
}

bool Saved::needs_input_grad(std::size_t input) const {
    if (input >= needs_.size())
        throw IndexError("Saved: no input ", input, " of ", needs_.size(), "; pass it to record");
    return needs_[input];
}

Tensor record(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& save_for_backward, Vjp vjp) {
    if (Profile::current() != nullptr) [[unlikely]]
        Profile::current()->recorded(operation);
    TensorImpl& result = y.impl();
    if (!enabled || !is_floating_point(result.array.dtype)) return y;
    bool takes_part = false;
    for (const Tensor& x : inputs) takes_part = takes_part || (x.defined() && x.requires_grad());
    if (!takes_part) return y;
    for (const Tensor& x : inputs)
        if (x.handle() == y.handle())
            throw GraphError(operation,
                             ": record needs a new tensor, but y is one of the inputs; clone() it first");
    if (result.node)
        throw GraphError(operation,
                         ": record needs a new tensor, but y is already in the graph; compute it under NoGrad");

    auto node = Node::make(operation, result.array);
    node->is_leaf = node->retains_gradient = false;
    node->vjp = std::move(vjp);
    node->inputs.reserve(inputs.size());
    for (const Tensor& x : inputs) node->inputs.push_back(x.defined() ? x.impl().node : nullptr);
    node->saved.reserve(save_for_backward.size());
    for (const Tensor& x : save_for_backward) {
        const bool is_output = x.handle() == y.handle();
        node->saved.push_back(
            !x.defined() ? SavedTensor()
                         : SavedTensor{x.array(), x.version(), is_output ? nullptr : x.impl().node, is_output});
    }
    if (Profile::current() != nullptr) [[unlikely]]
        Profile::current()->made(node->number);
    result.node = std::move(node);
    if (record_observer != nullptr) [[unlikely]]
        (*record_observer)(operation, y, inputs, save_for_backward);
    return y;
}

const char* operation_of(const Tensor& x) { return x.impl().node ? x.impl().node->operation : ""; }

Saved Node::unpack(bool create_graph) {
    std::vector<Tensor> tensors(saved.size());
    for (std::size_t i = 0; i < saved.size(); ++i) {
        const auto& [array, version, node, is_output] = saved[i];
        if (!array.storage) continue;  // undefined
        if (array.storage->version != version)
            throw GraphError(operation, ": a tensor of shape ", array.shape,
                             " saved for backward was changed in place (version ", array.storage->version,
                             ", saved at version ", version,
                             "); change a clone() of it, or change it after backward");
        std::shared_ptr<Node> variable;
        if (create_graph && (is_output || node)) {
            variable = make("alias", array);  // its number is the highest so far, so also above its input's
            variable->is_leaf = variable->retains_gradient = false;
            variable->is_alias = true;
            variable->inputs = {is_output ? shared_from_this() : node};
            variable->vjp = [](const Saved&, const Tensor& dy) { return Grads{dy}; };
        }
        tensors[i] = Tensor(std::make_shared<TensorImpl>(TensorImpl{array, std::move(variable)}));
    }
    std::vector<bool> needs;
    needs.reserve(inputs.size());
    for (const auto& input : inputs) needs.push_back(input != nullptr);
    return {std::move(tensors), std::move(needs)};
}

void Node::release() {
    is_released = true;
    saved.clear();
    vjp = nullptr;
}

std::map<std::uint64_t, Node*> ancestors(std::vector<Node*> stack, std::uint64_t lowest) {
    std::map<std::uint64_t, Node*> reached;
    while (!stack.empty()) {  // no recursion, because a graph may be a million nodes deep
        Node* const node = stack.back();
        stack.pop_back();
        if (node == nullptr || node->number < lowest || !reached.emplace(node->number, node).second) continue;
        for (const auto& input : node->inputs) stack.push_back(input.get());
    }
    return reached;
}

}  // namespace weft
