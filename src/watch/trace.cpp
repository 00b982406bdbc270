#include "weft/watch/trace.h"

#include <map>

#include "core/node.h"

namespace weft {

CountMultiplyAdds::CountMultiplyAdds() : outer_(std::exchange(kernels::multiply_adds, counts_)) {}

CountMultiplyAdds::~CountMultiplyAdds() {
    kernels::multiply_adds = outer_;
    for (int i = 0; i < 2 && outer_ != nullptr; ++i) outer_[i] += counts_[i];
}

namespace {
// The number of the node that computed an input: aliases are not operations.
std::uint64_t number_of(const Node* node) {
    while (node->is_alias) node = node->inputs[0].get();
    return node->number;
}
}  // namespace

std::vector<GraphNode> graph_nodes(const Tensor& x) { return graph_nodes(std::vector{x}); }

std::vector<GraphNode> graph_nodes(const std::vector<Tensor>& outputs) {
    std::vector<Node*> roots;
    for (const Tensor& x : outputs) roots.push_back(x.impl().node.get());
    std::map<std::uint64_t, std::size_t> position;
    std::vector<GraphNode> nodes;
    for (const auto& [number, node] : ancestors(roots)) {
        if (node->is_alias) continue;
        position[number] = nodes.size();
        GraphNode entry{number, node->operation, node->shape, node->dtype, {}, node->owner};
        for (const auto& input : node->inputs)
            if (input) entry.inputs.push_back(position.at(number_of(input.get())));
        nodes.push_back(std::move(entry));
    }
    return nodes;
}

std::uint64_t graph_number(const Tensor& x) { return x.impl().node ? number_of(x.impl().node.get()) : 0; }

void set_owner(const Tensor& x, const std::weak_ptr<const LeafOwner>& owner) {
    Node* const node = x.impl().node.get();
    if (!node || !node->is_leaf)
        throw GraphError("set_owner: a tensor of shape ", x.shape(),
                         " is no leaf in the graph; only what requires_grad_() was called on has an owner");
    if (node->owner.expired()) node->owner = owner;
}

const void* storage_of(const Tensor& x) { return x.array().storage.get(); }

void GradientLedger::begins(const Part& part) {
    if (part.kind != Part::backward) return;
    first_ = entries_.size();
    terms_.clear();
}

void GradientLedger::ends(const Part& part, bool well) noexcept {
    if (part.kind != Part::backward) return;
    if (!well) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(first_), entries_.end());
}

void GradientLedger::passes(const Passed& edge) {
    terms_[edge.to].push_back({edge.from, edge.operation, edge.input, Tensor(copy_of(edge.gradient.array()))});
}

void GradientLedger::visits(const Visited& node) {
    const int before = first_ == 0 ? 0 : entries_[first_ - 1].backward;
    entries_.push_back({before + 1, node.number, node.operation, std::move(terms_[node.number]),
                        Tensor(copy_of(node.gradient.array())), node.hooked});
    terms_.erase(node.number);
}

}  // namespace weft
