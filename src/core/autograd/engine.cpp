// Backward: nodes with a gradient wait in a map, the highest number first. All consumers of a node have higher
// numbers, so when its turn comes its gradient is complete, and its rule runs once.
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/autograd/ledger_recorder.h"
#include "core/autograd/tensor_impl.h"
#include "core/kernels/elementwise.h"
#include "weft/core/trace.h"

namespace weft {
namespace {

// a + b as a new tensor. (The engine is below weft/core/ops.h.)
Tensor add(const Tensor& a, const Tensor& b) {
    Array sum = make_array(a.shape(), a.dtype());
    kernels::add(sum, a.array(), b.array());
    return record("add", Tensor(std::move(sum)), {a, b}, {}, [](const Saved&, const Tensor& dy) {
        return Grads{dy, dy};
    });
}

// Throws unless g has the shape and type of the node's output; describe() begins the message.
template <class Describe>
void check_gradient(const Tensor& g, const Node& node, const Describe& describe) {
    if (g.shape() != node.shape)
        throw ShapeError(describe(), " has shape ", g.shape(), ", but the tensor has ", node.shape,
                         "; a gradient has its tensor's shape (sum_to undoes broadcasting)");
    if (g.dtype() != node.dtype)
        throw DTypeError(describe(), " is ", name(g.dtype()), ", but the tensor is ", name(node.dtype),
                         "; convert it with to()");
}

// Whether nothing else holds g or its storage, so it can be changed in place.
bool is_unshared(const Tensor& g) {
    const Array& x = g.array();
    return g.handle().use_count() == 1 && x.storage.use_count() == 1 && x.is_contiguous();
}

// A gradient that nothing else holds, because it may be changed in place later (clipping).
Tensor made_exclusive(const Tensor& g) { return is_unshared(g) ? g.detach() : Tensor(copy_of(g.array())); }

class Backward {
public:
    Backward(bool retain_graph, bool create_graph) : retain_(retain_graph), create_(create_graph) {}

    void seed(const char* operation, const Tensor& root, const Tensor& seed) {
        const std::shared_ptr<Node>& node = root.impl().node;
        if (!node)
            throw GraphError(
                operation, ": a tensor of shape ", root.shape(),
                " is outside the graph: nothing it was made from requires a gradient; call requires_grad_() on "
                "the leaves before computing it");
        if (seed.defined()) {
            check_gradient(seed, *node, [&] { return std::string(operation) + ": the seed"; });
            accumulate(nullptr, 0, node, seed);
            return;
        }
        if (root.numel() != 1)
            throw GraphError(
                operation, ": a tensor of shape ", root.shape(),
                " does not have exactly one element, so backward needs a seed; reduce it (sum, mean) or pass a "
                "seed of its shape");
        Array one = make_array(root.shape(), root.dtype());
        kernels::fill(one, 1);
        accumulate(nullptr, 0, node, Tensor(std::move(one)));
    }

    // Restricts the run to nodes on a path from the seeds to one of `targets`.
    void keep_paths_to(const std::vector<Node*>& targets) {
        has_targets_ = true;
        std::uint64_t lowest = UINT64_MAX;
        for (Node* t : targets) lowest = std::min(lowest, t->number);
        std::map<std::uint64_t, Node*> reachable;
        std::vector<Node*> stack;
        for (auto& [number, pending] : pending_) stack.push_back(pending.node.get());
        while (!stack.empty()) {
            Node* node = stack.back();
            stack.pop_back();
            if (node->number < lowest || !reachable.emplace(node->number, node).second) continue;
            for (const auto& input : node->inputs)
                if (input) stack.push_back(input.get());
        }
        targets_.insert(targets.begin(), targets.end());
        needed_ = targets_;
        for (auto& [number, node] : reachable)  // ascending numbers: inputs come first
            for (const auto& input : node->inputs)
                if (input && needed_.count(input.get())) needed_.insert(node), inner_.insert(node);
    }

    void run() {
        const GradMode mode(create_);
        while (!pending_.empty()) {
            Pending next = std::move(pending_.begin()->second);
            pending_.erase(pending_.begin());
            visit(*next.node, next.gradient, next.node);
        }
    }

    // The requested gradients. Commit the ledger once they have been used without an error.
    const std::map<Node*, std::pair<std::shared_ptr<Node>, Tensor>>& results() const { return results_; }
    void commit_ledger() { recorder_.commit(); }

private:
    struct Pending {
        std::shared_ptr<Node> node;
        Tensor gradient;
    };

    // One edge: the rule of `consumer` returned g for its input `position`; null for the seed.
    void accumulate(const Node* consumer, std::size_t position, const std::shared_ptr<Node>& node,
                    const Tensor& g) {
        recorder_.record_term(consumer, position, *node, g);
        auto [it, is_new] = pending_.try_emplace(node->number, Pending{node, g});
        if (is_new) return;
        Tensor& sum = it->second.gradient;
        if (!create_ && is_unshared(sum)) return kernels::add(sum.array(), sum.array(), g.array());
        const GradMode mode(create_);
        sum = add(sum, g);
    }

    void visit(Node& node, Tensor gradient, const std::shared_ptr<Node>& owner) {
        bool hooked = false;
        const auto hooks = node.hooks;  // a hook may remove itself
        for (const auto& [number, hook] : hooks) {
            Tensor replaced = hook(gradient);
            if (!replaced.defined()) continue;
            check_gradient(replaced, node,
                           [&] { return std::string(node.operation) + ": the gradient that a hook returned"; });
            gradient = replaced;
            hooked = true;
        }
        recorder_.record_entry(node, gradient, hooked);
        if (has_targets_ ? targets_.count(&node) > 0 : node.retains_gradient)
            results_[&node] = {owner, gradient};
        if (node.is_leaf || (has_targets_ && !inner_.count(&node))) return;
        if (node.is_released)
            throw GraphError(node.operation,
                             ": an earlier backward released the saved tensors; pass retain_graph = true to "
                             "that backward, or compute the output again");
        const Grads gradients = [&] {
            const NoTrace no_trace;  // its operations are not part of the run being traced
            return node.vjp(node.unpack(create_), gradient);
        }();
        if (gradients.size() != node.inputs.size())
            throw GraphError(node.operation, ": its gradient rule returned ", gradients.size(),
                             " gradients for ", node.inputs.size(),
                             " inputs; return one for each, undefined if there is none");
        if (!retain_) node.release();
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            const auto& input = node.inputs[i];
            if (!input || !gradients[i].defined() || (has_targets_ && !needed_.count(input.get()))) continue;
            check_gradient(gradients[i], *input, [&] {
                return std::string(node.operation) + ": the gradient of input " + std::to_string(i);
            });
            accumulate(&node, i, input, gradients[i]);
        }
    }

    LedgerRecorder recorder_;
    const bool retain_, create_;
    bool has_targets_ = false;
    std::set<Node*> targets_;
    std::set<Node*> needed_;  // the targets, and the nodes on a path to one
    std::set<Node*> inner_;   // the nodes whose rule runs, because one of their inputs is needed
    std::map<std::uint64_t, Pending, std::greater<>> pending_;
    std::map<Node*, std::pair<std::shared_ptr<Node>, Tensor>> results_;
};

}  // namespace

void Tensor::backward(const Tensor& gradient, bool retain_graph) const {
    Backward run(retain_graph, false);
    run.seed("backward", *this, gradient);
    run.run();
    const NoGrad off;
    std::vector<std::pair<Node*, Tensor>> sums;  // computed before any gradient changes
    for (const auto& [node, result] : run.results())
        sums.emplace_back(node, node->gradient.defined() ? add(node->gradient, result.second)
                                                         : made_exclusive(result.second));
    run.commit_ledger();
    for (auto& [node, sum] : sums) node->gradient = sum;
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, GradOptions options) {
    if (!grad_outputs.empty() && grad_outputs.size() != outputs.size())
        throw ValueError("grad: ", grad_outputs.size(), " grad_outputs for ", outputs.size(),
                         " outputs; pass one for each, or none");
    std::vector<Node*> targets;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        targets.push_back(inputs[i].impl().node.get());
        if (!targets.back())
            throw GraphError(
                "grad: input ", i, " of shape ", inputs[i].shape(),
                " does not require a gradient; call requires_grad_() on it before computing the outputs");
    }
    Backward run(options.retain_graph || options.create_graph, options.create_graph);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        run.seed("grad", outputs[i], grad_outputs.empty() ? Tensor() : grad_outputs[i]);
    run.keep_paths_to(targets);
    run.run();
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto found = run.results().find(targets[i]);
        if (found == run.results().end() && !options.allow_unused)
            throw GraphError(
                "grad: no output depends on input ", i, " of shape ", inputs[i].shape(),
                "; leave it out, or pass allow_unused = true for an undefined tensor in its place");
        if (found == run.results().end())
            gradients.emplace_back();
        else
            gradients.push_back(options.create_graph ? found->second.second
                                                     : made_exclusive(found->second.second));
    }
    run.commit_ledger();
    return gradients;
}

}  // namespace weft
