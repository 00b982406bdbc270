// How an operation enters the graph (record), and what backward gets back of it (unpack).
#include "core/node.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "weft/core/observer.h"

namespace weft {
namespace {
std::atomic<std::uint64_t> last_number{0};
}  // namespace

std::uint64_t next_number() { return ++last_number; }

Node::Node(const char* made_by, const Array& output)
    : number(next_number()), operation(made_by), shape(output.shape), dtype(output.dtype) {}

std::shared_ptr<Node> Node::make(const char* operation, const Array& output) {
    return {new Node(operation, output), destroy};
}

void Node::destroy(Node* node) noexcept {
    thread_local Node** waiting = nullptr;  // while the loop below deletes: the nodes that it has yet to reach
    if (waiting != nullptr) {
        node->next_to_delete = std::exchange(*waiting, node);
        return;
    }
    Node* first = node;
    waiting = &first;
    while (first != nullptr) {
        const Node* const last = first;
        first = last->next_to_delete;
        delete last;
    }
    waiting = nullptr;
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

bool is_derived(const Tensor& x, const Tensor& y, const std::vector<Tensor>& inputs) {
    return takes_gradient(x.dtype()) && !x.impl().node && x.impl().tangents.empty() &&
           x.handle() != y.handle() &&
           std::ranges::none_of(inputs, [&](const Tensor& in) { return in.handle() == x.handle(); });
}

bool depends_on_dy(const char* operation, const char* by, const Tensor& g, const Tensor& dy) {
    const std::uint64_t own = dy.impl().node->number;
    const auto& node = g.impl().node;
    if (node && ancestors({node.get()}, own).contains(own)) return true;
    const std::vector<double> values = g.detach().to(float64).to_vector<double>();
    if (std::ranges::any_of(values, std::identity()))
        throw GraphError(operation, ": ", by,
                         " differentiates the gradient rule, which is not made of recorded operations; write "
                         "it with Weft's own, on dy itself, or give record a tangent rule");
    return false;
}

void check_may_read(const char* function, const Tensor& x) {
    if (differentiated_rule == nullptr || !is_grad_enabled() || (!x.impl().node && !has_tangent(x))) return;
    throw GraphError(differentiated_rule, ": its rule is differentiated in turn, but reads a tensor of shape ",
                     x.shape(), " with ", function,
                     ", so how the result depends on it is lost; compute with Weft's own operations, or read "
                     "detach() of what is constant");
}

namespace {
void check_not_derived(const std::vector<Tensor>& inputs) {
    for (const Tensor& x : inputs)
        if (x.defined() && x.impl().node && x.impl().node->is_derived)
            throw GraphError(
                differentiated_rule, ": its rule is differentiated in turn, but uses a saved tensor of shape ",
                x.shape(),
                " that is neither an input nor the result, so how it depends on the inputs is lost; compute it "
                "again from them, or use detach() of what is constant");
}
}  // namespace

Vjp once_differentiable(Vjp vjp) {
    return [vjp = std::move(vjp)](const Saved& saved, const Tensor& dy) {
        if (differentiated_rule != nullptr)
            throw GraphError(differentiated_rule,
                             ": its rule is once_differentiable, so it has no gradient of the gradient; "
                             "leave create_graph out, or write the rule with Weft's own operations");
        return vjp(saved, dy);
    };
}

Tensor record(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
              const std::vector<Tensor>& save_for_backward, Vjp vjp, Jvp jvp) {
    const int watching = Observer::watching();
    if (watching > 0) [[unlikely]]
        Observer::tell(watching, Observer::recording, [&](Observer& one) { one.computes(operation); });
    TensorImpl& result = y.impl();
    if (!is_grad_enabled() || !takes_gradient(result.array.dtype)) return y;
    if (differentiated_rule != nullptr) [[unlikely]]
        check_not_derived(inputs);
    const auto is_variable = [](const Tensor& x) {
        return x.defined() && x.requires_grad() && x.impl().node->number >= constants_below();
    };
    const auto node_of = [&](const Tensor& x) { return is_variable(x) ? x.impl().node : nullptr; };
    const bool takes_part = std::ranges::any_of(inputs, is_variable),
               has_tangents = std::ranges::any_of(inputs, has_tangent);
    if (!takes_part && !has_tangents) return y;
    for (const Tensor& x : inputs)
        if (x.handle() == y.handle())
            throw GraphError(operation,
                             ": record needs a new tensor, but y is one of the inputs; clone() it first");
    if (result.node || !result.tangents.empty())
        throw GraphError(operation,
                         ": record needs a new tensor, but y is already in the graph; compute it under NoGrad");

    if (!takes_part) return forward_mode->computed(operation, y, inputs, save_for_backward, vjp, jvp), y;
    auto node = Node::make(operation, result.array);
    node->is_leaf = node->retains_gradient = false;
    node->vjp = std::move(vjp);
    node->inputs.reserve(inputs.size());
    for (const Tensor& x : inputs) node->inputs.push_back(node_of(x));
    node->saved.reserve(save_for_backward.size());
    for (const Tensor& x : save_for_backward) {
        const bool is_output = x.handle() == y.handle();
        node->saved.push_back(!x.defined()
                                  ? SavedTensor()
                                  : SavedTensor{x.impl().array, x.version(), is_output ? nullptr : node_of(x),
                                                is_output, is_derived(x, y, inputs), x.impl().tangents});
    }
    result.node = std::move(node);
    if (watching > 0) [[unlikely]]
        Observer::tell(watching, Observer::recording, [&](Observer& one) {
            one.records({operation, y, inputs, save_for_backward});
        });
    if (has_tangents) forward_mode->computed(operation, y, inputs, save_for_backward, result.node->vjp, jvp);
    return y;
}

Tensor record_symmetric(const char* operation, Tensor y, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& save_for_backward, Vjp vjp) {
    return record(operation, std::move(y), inputs, save_for_backward, std::move(vjp), Symmetric());
}

const char* operation_of(const Tensor& x) { return x.impl().node ? x.impl().node->operation : ""; }

Tensor variable_of(const Array& x, std::shared_ptr<Node> source, Tangents tangents) {
    auto node = Node::make(source ? "alias" : "leaf", x);  // its number is the highest so far
    if (source) {
        node->is_leaf = node->retains_gradient = false;
        node->is_alias = true;
        node->inputs = {std::move(source)};
        node->vjp = [](const Saved&, const Tensor& dy) { return Grads{dy}; };
    }
    return Tensor(std::make_shared<TensorImpl>(TensorImpl{x, std::move(node), nullptr, std::move(tangents)}));
}

Tensor without_node(const Tensor& x) {
    return Tensor(std::make_shared<TensorImpl>(TensorImpl{x.array(), nullptr, nullptr, x.impl().tangents}));
}

Saved Node::unpack(bool create_graph) {
    std::vector<Tensor> tensors(saved.size());
    for (std::size_t i = 0; i < saved.size(); ++i) {
        const auto& [array, version, node, is_output, derived, tangents] = saved[i];
        if (!array.storage) continue;  // undefined
        if (array.storage->version != version)
            throw GraphError(operation, ": a tensor of shape ", array.shape,
                             " saved for backward was changed in place (version ", array.storage->version,
                             ", saved at version ", version,
                             "); change a clone() of it, or change it after backward");
        const bool is_variable = create_graph && (is_output || node || derived);
        tensors[i] = is_variable
                         ? variable_of(array, is_output ? shared_from_this() : node, tangents)
                         : Tensor(std::make_shared<TensorImpl>(TensorImpl{array, nullptr, nullptr, tangents}));
        if (is_variable) tensors[i].impl().node->is_derived = derived;
    }
    std::vector<bool> needs;
    needs.reserve(inputs.size());
    for (const auto& input : inputs) needs.push_back(input != nullptr);
    return {std::move(tensors), std::move(needs)};
}

bool Node::has_saved(const Tensor& x) const {
    return std::ranges::any_of(saved, [&](const SavedTensor& s) { return share_memory(s.array, x); });
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

Lent::Lent(std::string_view to, std::span<const Tensor> tensors, std::string_view of)
    : outer_(current_), to_(to), of_(of), tensors_(tensors), here_(current_, this) {}

bool Lent::holds(const Tensor& x) const {
    return std::ranges::any_of(tensors_, [&](const Tensor& lent) { return share_memory(lent, x); });
}

void Lent::refuse(const char* operation, const Tensor& x) const {
    if (holds(x))
        throw GraphError(operation, ": ", to(), " was given this tensor of shape ", x.shape(),
                         ", which others hold, too; change a clone() of it");
    if (outer_ != nullptr) outer_->refuse(operation, x);
}

}  // namespace weft
