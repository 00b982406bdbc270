// Backward: nodes with a gradient wait in a map, the highest number first. All consumers of a node have higher
// numbers, so when its turn comes its gradient is complete, and its rule runs once. (micrograd sorts the graph
// first; PyTorch's engine counts the consumers of each node. Here the order in which nodes were made is
// enough.) A run is an object on the stack of the thread that called backward; only kernels use others. So a
// rule or a hook may start a run of its own.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "core/node.h"
#include "weft/core/modes.h"
#include "weft/core/op.h"
#include "weft/core/record.h"

namespace weft {
namespace {

// The gradients of a run, by node.
using Results = std::map<std::shared_ptr<Node>, Tensor>;
using Ready = decltype(GradOptions::ready);

// What a profile calls the addition of a node's gradients, and of those of two backwards.
const char* const sum_of_gradients = "sum of gradients";

// Whether nothing else holds g or its storage, so it can be changed in place. Foreign memory has another owner.
bool is_unshared(const Tensor& g) {
    const Array& x = g.array();
    return g.handle().use_count() == 1 && x.storage.use_count() == 1 && !x.storage->is_foreign() &&
           x.is_contiguous();
}

// A gradient that nothing else holds, because it may be changed in place later (clipping).
Tensor made_exclusive(const Tensor& g) {
    return Tensor(std::make_shared<TensorImpl>(
        TensorImpl{is_unshared(g) ? g.array() : copy_of(g.array()), nullptr, nullptr, g.impl().tangents}));
}

}  // namespace

void check_count(const char* operation, std::size_t gradients, std::size_t inputs) {
    if (gradients != inputs)
        throw GraphError(operation, ": its gradient rule returned ", gradients, " gradients for ", inputs,
                         " inputs; return one for each, undefined if there is none");
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
    const Op here(sum_of_gradients);
    Array sum = make_array(a.shape(), a.dtype());
    kernels::add(sum, a.array(), b.array());
    return record_symmetric("add", Tensor(std::move(sum)), {a, b}, {}, [](const Saved&, const Tensor& dy) {
        return Grads{dy, dy};
    });
}

// Takes dy out of the graph of what a rule made of it, and so all that depends on no other variable. (The seed
// of backward is a constant, but a rule has to be seen using it: depends_on_dy. So it is a leaf while the rule
// runs; if it stayed one, 2 · dy would be in the graph, and a gradient of a gradient would end at a leaf that
// nobody made.)
void take_out(const Tensor& dy, Grads& gradients) {
    std::set<const Node*> out{dy.impl().node.get()};
    const auto is_out = [&](const std::shared_ptr<Node>& node) { return out.count(node.get()) > 0; };
    std::vector<Node*> made;
    for (const Tensor& g : gradients)
        if (g.defined()) made.push_back(g.impl().node.get());
    for (const auto& [number, node] : ancestors(made, dy.impl().node->number + 1)) {  // inputs come first
        if (node->is_leaf) continue;
        for (auto& input : node->inputs)
            if (is_out(input)) input = nullptr;
        for (SavedTensor& saved : node->saved)
            if (is_out(saved.node)) saved.node = nullptr;
        if (std::ranges::none_of(node->inputs, [](const auto& input) { return input != nullptr; }))
            out.insert(node);
    }
    for (Tensor& g : gradients)
        if (g.defined() && is_out(g.impl().node)) g = without_node(g);
}

// What hooks and rules are given is also the gradient of other tensors, saved, or the caller's: they may not
// change it in place.
class Backward : Lent {
public:
    Backward(bool retain_graph, bool create_graph)
        : Lent("backward"),
          retain_(retain_graph),
          keeps_graph_(create_graph),
          create_(create_graph || is_forward_mode()) {}

    void seed(const char* operation, const Tensor& root, const Tensor& seed) {
        const std::shared_ptr<Node>& node = root.impl().node;
        if (!node)
            throw GraphError(
                operation, ": a tensor of shape ", root.shape(),
                " is outside the graph: nothing it was made from requires a gradient; call requires_grad_() on "
                "the leaves before computing it, or make the gradient it is made from with create_graph = "
                "true");
        if (seed.defined())
            check_gradient(seed, *node, operation, ": the seed");
        else if (root.numel() != 1)
            throw GraphError(
                operation, ": a tensor of shape ", root.shape(),
                " does not have exactly one element, so backward needs a seed; reduce it (sum, mean) or pass a "
                "seed of its shape");
        Observer::tell(watching_, Observer::passing, [&](Observer& one) { one.starts(root); });
        // Under create_graph gradients stay what the rules make of them: none may be the caller's seed.
        const GradMode mode(create_);
        const Unwatched names(Observer::naming);
        accumulate(nullptr, 0, node,
                   !seed.defined() ? Tensor(filled(root.shape(), 1, root.dtype()))
                   : create_       ? seed.clone()
                                   : without_node(seed));
    }

    // Restricts the run to nodes on a path from the seeds to one of `targets`. A seed that no target needs is
    // dropped, because its gradient would lack what its consumers add. If there is a `ready`, it gets each
    // position in `targets` with its gradient, which is then undefined in the results; for a leaf as soon as
    // its last consumer has been visited.
    void keep_paths_to(const std::vector<std::shared_ptr<Node>>& targets, Ready ready) {
        has_targets_ = true;
        ready_ = std::move(ready);
        std::uint64_t lowest = UINT64_MAX;
        for (const auto& target : targets) lowest = std::min(lowest, target->number);
        for (const auto& target : targets) targets_.insert(target.get());
        needed_ = targets_;
        std::vector<Node*> roots;
        for (const auto& [number, pending] : pending_) roots.push_back(pending.node.get());
        for (const auto& [number, node] : ancestors(roots, lowest))  // inputs come first
            if (needs_inputs_of(*node)) needed_.insert(node);
        std::erase_if(pending_, [&](const auto& seed) { return !needs(seed.second.node); });
        if (!ready_) return;
        for (std::size_t i = 0; i < targets.size(); ++i) positions_[targets[i].get()].push_back(i);
        for (const Node* node : needed_)
            for (const auto& input : node->inputs)
                if (input && input->is_leaf && targets_.count(input.get()) > 0) ++consumers_[input.get()];
    }

    // Returns the gradients of the targets or, without targets, of the nodes that store theirs.
    Results run() {
        const GradMode mode(create_);
        while (!pending_.empty()) visit(std::move(pending_.extract(pending_.begin()).mapped()));
        return std::move(results_);
    }

private:
    struct Pending {
        std::shared_ptr<Node> node;
        Tensor gradient;
    };

    bool holds(const Tensor& x) const override {
        if (visited_ == nullptr) return false;
        for (const Visit* at = visited_; at != nullptr; at = at->outer)
            if (share_memory(at->gradient, x) || (at->in_rule && at->node.has_saved(x))) return true;
        return std::ranges::any_of(pending_,
                                   [&](const auto& p) { return share_memory(p.second.gradient, x); }) ||
               std::ranges::any_of(results_, [&](const auto& r) { return share_memory(r.second, x); });
    }
    std::string to() const override {
        return "a hook or the gradient rule of " + std::string(visited_->node.operation);
    }

    bool needs(const std::shared_ptr<Node>& input) const {
        return input && (!has_targets_ || needed_.count(input.get()) > 0);
    }
    bool needs_inputs_of(const Node& node) const {
        return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const auto& x) { return needs(x); });
    }

    // One edge: the rule of `consumer` returned g for its input `position`; null for the seed.
    void accumulate(const Node* consumer, std::size_t position, const std::shared_ptr<Node>& node, Tensor g) {
        Pending& pending = pending_.try_emplace(node->number, Pending{node, {}}).first->second;
        Observer::tell(watching_, Observer::passing, [&](Observer& one) {
            one.passes({consumer ? consumer->number : 0, consumer ? consumer->operation : "seed", position,
                        node->number, g});
        });
        Tensor& sum = pending.gradient;
        if (!sum.defined()) {
            sum = std::move(g);
            return;
        }
        const Op here(sum_of_gradients);
        if (!create_ && is_unshared(sum)) return kernels::add(sum.array(), sum.array(), g.array());
        const GradMode mode(create_);
        sum = sum_of(sum, g);
    }

    // Without create_graph, everyone gets a tensor of its own.
    void hand_over(const Node& node, Tensor& gradient) {
        std::size_t left = positions_[&node].size();
        for (const std::size_t i : positions_[&node]) {
            const bool is_last = --left == 0 && node.is_leaf;
            ready_(i, keeps_graph_ ? gradient
                                   : made_exclusive(is_last ? std::exchange(gradient, {}) : Tensor(gradient)));
        }
    }

    // The gradients by a rule that will be differentiated: it gets dy as a variable, on which they must depend.
    Grads differentiable(Node& node, const Tensor& gradient) const {
        const TensorImpl& given = gradient.impl();
        const Tensor dy = variable_of(given.array, given.node, given.tangents);
        Grads gradients = node.vjp(node.unpack(true), dy);
        for (std::size_t i = 0; i < std::min(gradients.size(), node.inputs.size()); ++i)
            if (gradients[i].defined() && needs(node.inputs[i]))
                depends_on_dy(node.operation, "create_graph", gradients[i], dy);
        if (!given.node) take_out(dy, gradients);
        return gradients;
    }

    void visit(Pending next) {
        Node& node = *next.node;
        Tensor& gradient = next.gradient;
        Visit here{visited_, node, gradient};
        const Scoped<const Visit*> visiting(visited_, &here);
        bool hooked = false;
        // Hooks come first, so what they return is what is stored and passed on. They do not act on what they
        // call.
        if (!node.hooks.empty() && !Underway::is(&node)) {
            const Underway running(&node);
            const Op::Apart apart;
            const auto hooks = node.hooks;  // a hook may remove itself
            for (const auto& [number, hook] : hooks) {
                const Tensor replaced = hook(gradient);
                if (!replaced.defined()) continue;
                check_gradient(replaced, node, node.operation, ": the gradient that a hook returned");
                gradient = replaced;
                hooked = true;
            }
        }
        Observer::tell(watching_, Observer::passing, [&](Observer& one) {
            one.visits({node.number, node.operation, gradient, hooked});
        });
        if (has_targets_ ? targets_.count(&node) > 0 : node.retains_gradient) {
            results_[next.node] = ready_ ? Tensor() : gradient;
            if (ready_) hand_over(node, gradient);
        }
        if (!needs_inputs_of(node)) return;
        if (node.is_released)
            throw GraphError(node.operation,
                             ": an earlier backward released the saved tensors; pass retain_graph = true to "
                             "that backward, or compute the output again");
        Grads gradients = [&] {
            const Op::Apart apart;
            const Unwatched names(Observer::naming);  // its tensors are not those of the run
            const Watched rule({Observer::Part::rule, node.operation, node.number});
            const Scoped<bool> ruling(here.in_rule, true);
            const Scoped<const char*> differentiated(differentiated_rule, create_ ? node.operation : nullptr);
            return create_ ? differentiable(node, gradient) : node.vjp(node.unpack(false), gradient);
        }();
        check_count(node.operation, gradients.size(), node.inputs.size());
        if (!retain_) node.release();
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            const std::shared_ptr<Node>& input = node.inputs[i];
            if (!needs(input)) continue;
            if (gradients[i].defined()) {
                check_gradient(gradients[i], *input, node.operation, ": the gradient of input ", i);
                accumulate(&node, i, input,
                           create_ && !keeps_graph_ ? without_node(gradients[i]) : std::move(gradients[i]));
            }
            const auto found = consumers_.find(input.get());
            if (found == consumers_.end() || --found->second > 0) continue;
            if (auto leaf = pending_.extract(input->number)) visit(std::move(leaf.mapped()));
        }
    }

    // A node whose hooks and rule run; inside it, those of a leaf that its rule completed.
    struct Visit {
        const Visit* outer;
        const Node& node;
        const Tensor& gradient;
        bool in_rule = false;
    };

    // Whether nodes keep what they saved, whether gradients stay in the graph, and whether rules are run so
    // that they can be differentiated: as asked, no, no in backward; yes, yes, yes with create_graph; as asked,
    // no, yes inside a jvp, whose tangents pass through the rules while the graph does not.
    const bool retain_, keeps_graph_, create_;
    Results results_;
    const Visit* visited_ = nullptr;  // before an observer is told, whose changes in place `holds` looks at
    const int watching_ = Observer::watching();
    const Watched whole_{{Observer::Part::backward, "backward"}};
    const Unwatched inside_{Observer::passing};  // what a rule or a hook starts
    bool has_targets_ = false;
    std::set<Node*> targets_;
    std::set<Node*> needed_;  // the targets, and the nodes on a path to one
    Ready ready_;
    std::map<const Node*, std::vector<std::size_t>> positions_;  // the targets', if there is a ready_
    std::map<const Node*, std::size_t> consumers_;  // for leaves among them, the edges not yet visited
    std::map<std::uint64_t, Pending, std::greater<>> pending_;
};

void Tensor::backward(const Tensor& gradient, bool retain_graph) const {
    Backward backward(retain_graph, false);
    backward.seed("backward", *this, gradient);
    Results results = backward.run();
    const GradMode mode(is_forward_mode());
    for (auto& [node, g] : results)  // all sums are computed before any gradient changes
        g = node->gradient.defined() ? sum_of(node->gradient, g) : made_exclusive(g);
    for (const auto& [node, g] : results) node->gradient = g;
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, GradOptions options) {
    if (!grad_outputs.empty() && grad_outputs.size() != outputs.size())
        throw ValueError("grad: ", grad_outputs.size(), " grad_outputs for ", outputs.size(),
                         " outputs; pass one for each, or none");
    std::vector<std::shared_ptr<Node>> targets;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        targets.push_back(inputs[i].impl().node);
        if (!targets.back())
            throw GraphError(
                "grad: input ", i, " of shape ", inputs[i].shape(),
                " does not require a gradient; call requires_grad_() on it before computing the outputs");
    }
    Backward backward(options.retain_graph || options.create_graph, options.create_graph);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        backward.seed("grad", outputs[i], grad_outputs.empty() ? Tensor() : grad_outputs[i]);
    backward.keep_paths_to(targets, options.ready);
    const Results results = backward.run();
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto found = results.find(targets[i]);
        if (found == results.end() && !options.allow_unused)
            throw GraphError(
                "grad: no output depends on input ", i, " of shape ", inputs[i].shape(),
                "; leave it out, or pass allow_unused = true for an undefined tensor in its place");
        if (options.ready) continue;
        if (found == results.end())
            gradients.emplace_back();
        else
            gradients.push_back(options.create_graph ? found->second : made_exclusive(found->second));
    }
    return gradients;
}

}  // namespace weft
