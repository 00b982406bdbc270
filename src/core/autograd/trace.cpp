#include "weft/core/trace.h"

#include <map>

#include "core/autograd/tensor_impl.h"

namespace weft {

constinit thread_local Trace* Trace::current_ = nullptr;

Trace::Trace() : before_(current_) { current_ = this; }
Trace::~Trace() { current_ = before_; }

void Trace::add(const char* name, const Tensor& x) {
    if (x.defined()) entries_.push_back({name, x});
}

namespace {
// The node that computed an input: aliases are not operations.
const Node* skip_aliases(const std::shared_ptr<Node>& input) {
    const Node* node = input.get();
    while (node != nullptr && node->is_alias) node = node->inputs[0].get();
    return node;
}
}  // namespace

std::vector<GraphNode> graph_nodes(const Tensor& x) { return graph_nodes(std::vector{x}); }

std::vector<GraphNode> graph_nodes(const std::vector<Tensor>& outputs) {
    std::map<std::uint64_t, const Node*> reached;  // in ascending order, so inputs come before what uses them
    std::vector<const Node*> stack;                // no recursion: a graph may be a million nodes deep
    for (const Tensor& x : outputs)
        if (x.impl().node) stack.push_back(skip_aliases(x.impl().node));
    while (!stack.empty()) {
        const Node* node = stack.back();
        stack.pop_back();
        if (!reached.emplace(node->number, node).second) continue;
        for (const auto& input : node->inputs)
            if (input) stack.push_back(skip_aliases(input));
    }

    std::map<std::uint64_t, std::size_t> position;
    std::vector<GraphNode> nodes;
    nodes.reserve(reached.size());
    for (const auto& [number, node] : reached) {
        position[number] = nodes.size();
        GraphNode entry{number, node->operation, node->shape, node->dtype, {}};
        for (const auto& input : node->inputs)
            if (input) entry.inputs.push_back(position.at(skip_aliases(input)->number));
        nodes.push_back(std::move(entry));
    }
    return nodes;
}

std::uint64_t graph_number(const Tensor& x) { return x.impl().node ? skip_aliases(x.impl().node)->number : 0; }

const void* storage_of(const Tensor& x) { return x.array().storage.get(); }

}  // namespace weft
