#include "core/autograd/node.h"

#include <atomic>
#include <string>

#include "core/autograd/tensor_impl.h"

namespace weft {
namespace {

std::atomic<std::uint64_t> last_number{0};

}  // namespace

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

Saved Node::unpack(bool create_graph) {
    std::vector<Tensor> tensors;
    tensors.reserve(saved.size());
    for (const SavedTensor& k : saved) {
        if (!k.array.storage) {
            tensors.emplace_back();
            continue;
        }
        if (k.array.storage->version != k.version)
            throw GraphError(operation, ": a tensor of shape ", k.array.shape,
                             " saved for backward was changed in place (version ", k.array.storage->version,
                             ", saved at version ", k.version,
                             "); change a clone() of it, or change it after backward");
        std::shared_ptr<Node> variable;
        if (create_graph && (k.is_output || k.node)) {
            variable = make("alias", k.array);
            variable->is_leaf = variable->retains_gradient = false;
            variable->is_alias = true;
            variable->inputs = {k.is_output ? shared_from_this() : k.node};
            variable->vjp = [](const Saved&, const Tensor& dy) { return Grads{dy}; };
        }
        tensors.emplace_back(std::make_shared<TensorImpl>(TensorImpl{k.array, std::move(variable)}));
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

}  // namespace weft
