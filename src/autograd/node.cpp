#include "autograd/node.h"

#include <atomic>
#include <string>

#include "autograd/tensor_impl.h"

namespace weft {
namespace {

std::atomic<std::uint64_t> last_number{0};

// What a dying node leaves behind, and what may own further nodes.
struct Remains {
    std::vector<std::shared_ptr<Node>> inputs;
    std::vector<Kept> kept;
    Rule rule;
    std::vector<std::pair<std::uint64_t, Tensor::Hook>> hooks;
    Tensor gradient;
};

thread_local std::vector<Remains>* graveyard = nullptr;  // of the outermost dying node on this thread

}  // namespace

Node::Node(const char* made_by, const Array& output)
    : number(++last_number), operation(made_by), shape(output.shape), dtype(output.dtype) {}

Node::~Node() {
    Remains remains{std::move(inputs), std::move(kept), std::move(rule), std::move(hooks), std::move(gradient)};
    if (graveyard != nullptr) {  // inside another node's end: that one carries on with ours
        graveyard->push_back(std::move(remains));
        return;
    }
    std::vector<Remains> waiting;
    graveyard = &waiting;
    waiting.push_back(std::move(remains));
    while (!waiting.empty()) {
        const Remains last = std::move(waiting.back());
        waiting.pop_back();
    }
    graveyard = nullptr;
}

Saved Node::unpack() {
    std::vector<Tensor> tensors;
    tensors.reserve(kept.size());
    for (const Kept& k : kept) {
        if (k.array.storage && k.array.storage->version != k.version)
            throw GraphError(std::string(operation) + ": a tensor of shape " + k.array.shape.str() +
                             " that backward needs was changed in place after it was used (version " +
                             std::to_string(k.array.storage->version) + ", kept at version " +
                             std::to_string(k.version) +
                             "); change a clone() of it, or change it after backward");
        if (!k.array.storage) {
            tensors.emplace_back();
            continue;
        }
        tensors.emplace_back(
            std::make_shared<TensorImpl>(TensorImpl{k.array, k.is_output ? shared_from_this() : k.node}));
    }
    std::vector<bool> needs;
    needs.reserve(inputs.size());
    for (const auto& input : inputs) needs.push_back(input != nullptr);
    return {std::move(tensors), std::move(needs)};
}

void Node::release() {
    is_released = true;
    kept.clear();
    rule = nullptr;
}

}  // namespace weft
