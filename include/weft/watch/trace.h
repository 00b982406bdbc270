// Looking into a run: the tensors that operations and modules gave a name to, the multiply-adds of its
// products, and the graph of a result.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/core/observer.h"
#include "weft/core/tensor.h"

namespace weft {

// A tensor with the name that the run gave it.
struct TraceEntry {
    std::string name;  // the name passed to traced()
    Tensor tensor;     // the tensor itself, not a copy
};

// While a Trace is active, it collects what traced() is called with on this thread. Traces nest, and the
// innermost receives everything. The fused kernel of attention has no scores and no weights to name, so
// combine it with Plain:
//
//     const Plain readable(Plain::operations);
//     const Trace trace;
//     const Tensor y = scaled_dot_product_attention(q, k, v);
//     std::vector<std::string> names;  // q, k, v, scores, weights, heads
//     for (const TraceEntry& entry : trace.entries()) names.push_back(entry.name);
class [[nodiscard]] Trace : Observer {
public:
    Trace() = default;

    const std::vector<TraceEntry>& entries() const { return entries_; }  // in the order of the run

private:
    void names(const char* name, const Tensor& x) override { entries_.push_back({name, x}); }
    std::vector<TraceEntry> entries_;
};

// While it is active, no Trace of this thread collects anything. Backward holds one around gradient rules.
//
//     const Trace trace;
//     const NoTrace quiet;
//     const Tensor y = traced("y", ones({2}));
//     const std::size_t noted = trace.entries().size();  // 0
class [[nodiscard]] NoTrace {
    const Unwatched names_{Observer::naming};
};

// While a CountMultiplyAdds is active, it counts the multiply-adds that this thread's matrix products really
// run, on all threads of Weft's team: m·n·k for (m, k) @ (k, n). Every product counts, forward and backward,
// whether it is matmul's, linear's or one inside the fused kernel of attention; elementwise operations and sums
// do not. What a kernel skips is not counted: fused attention leaves out tiles of keys that a causal mask
// blocks, and in backward computes the scores a second time. Counters nest, and an inner one adds its count to
// the outer when it goes out of scope. PyTorch's FlopCounterMode is the same idea, with two FLOPs for a
// multiply-add.
//
//     const Tensor a = ones({2, 3}), b = ones({3, 4});
//     const CountMultiplyAdds counter;
//     const Tensor c = matmul(a, b);
//     const std::int64_t ran = counter.count();  // 2 · 4 · 3 = 24
class [[nodiscard]] CountMultiplyAdds {
public:
    CountMultiplyAdds();
    ~CountMultiplyAdds();
    CountMultiplyAdds(const CountMultiplyAdds&) = delete;
    CountMultiplyAdds& operator=(const CountMultiplyAdds&) = delete;

    std::int64_t count() const { return counts_[0]; }           // so far
    std::int64_t count_bfloat16() const { return counts_[1]; }  // those whose operands were bfloat16

private:
    std::atomic<std::int64_t> counts_[2] = {0, 0};
    std::atomic<std::int64_t>* const outer_;
};

// While a BackwardWatch is active, backward and grad on this thread call `watch` with each tensor that they
// start from, before any gradient flows; not those that a gradient rule, a hook or `watch` starts. They nest,
// and the innermost is called.
//
//     std::size_t nodes = 0;
//     const BackwardWatch watch([&](const Tensor& root) { nodes = graph_nodes(root).size(); });
//     sum(x * x).backward();  // nodes is 3
class [[nodiscard]] BackwardWatch : Observer {
public:
    // Until it goes out of scope.
    explicit BackwardWatch(std::function<void(const Tensor& root)> watch) : watch_(std::move(watch)) {}

private:
    void starts(const Tensor& root) override { watch_(root); }
    const std::function<void(const Tensor&)> watch_;
};

// What a leaf can belong to, such as a module; derive from it.
struct LeafOwner {
    virtual ~LeafOwner() = default;
};

// A node of the graph, described.
struct GraphNode {
    std::uint64_t number = 0;  // larger than those of its inputs
    std::string operation;     // "leaf" for a leaf
    Shape shape;               // the shape of its output
    DType dtype = float32;     // the type of its output
    // Positions in the list from graph_nodes, in the operation's order, without inputs outside the graph.
    std::vector<std::size_t> inputs;
    std::weak_ptr<const LeafOwner> owner = {};  // of a leaf: see set_owner
};

// Every node that x was computed from, each once, inputs before what uses them, so x's own is last; empty if
// x is outside the graph. Tensors that need no gradient (data, masks) have no node.
//
//     const Tensor x = ones({2}).requires_grad_();
//     const std::vector<GraphNode> nodes = graph_nodes(sum(x * x));  // leaf, multiply, sum
std::vector<GraphNode> graph_nodes(const Tensor& x);
// The same for several tensors together, in the order of the nodes' numbers.
std::vector<GraphNode> graph_nodes(const std::vector<Tensor>& outputs);

// The number of x's node; 0 outside the graph.
std::uint64_t graph_number(const Tensor& x);

// Notes whose leaf x is, for graph_nodes; a Module notes that its parameters are its own. A leaf keeps its
// first owner for as long as that exists, also through set_data. GraphError unless x is a leaf in the graph.
//
//     const auto model = std::make_shared<LeafOwner>();
//     const Tensor x = ones({2}).requires_grad_();
//     set_owner(x, model);
//     const bool owned = graph_nodes(sum(x))[0].owner.lock() == model;  // true
void set_owner(const Tensor& x, const std::weak_ptr<const LeafOwner>& owner);

// Identifies the storage of x's values: equal for two tensors exactly if shares_storage() is true.
//
//     const Tensor x = ones({2, 3}).requires_grad_();
//     const Tensor y = x.reshape({3, 2});
//     const bool later = graph_number(y) > graph_number(x);  // true
//     const bool view = storage_of(y) == storage_of(x);      // true
const void* storage_of(const Tensor& x);

// The gradient ledger: what passes along each edge of the graph during backward, and what it adds up to.

// What a node received along one edge: one term of the chain rule's sum.
//
//     const Tensor x = tensor(3.0).requires_grad_();
//     const GradientLedger ledger;
//     (x * x).backward();
//     double total = 0;
//     for (const LedgerTerm& term : ledger.entries().back().terms) total += term.gradient.item();
//     // total is 3 + 3 = 6
struct LedgerTerm {
    std::uint64_t from = 0;  // the number of the node whose rule returned it (see graph_number); 0 for the seed
    std::string operation;   // operation of that node; "seed" for the seed
    std::size_t input = 0;   // which input of that operation the receiver is
    Tensor gradient;         // a copy, outside the graph
};

// A node that backward visited. Σ terms = gradient, unless a hook replaced it.
struct LedgerEntry {
    int backward = 1;               // which backward of this ledger, counted from 1
    std::uint64_t number = 0;       // number of the node; see graph_number
    std::string operation;          // "leaf" for a leaf
    std::vector<LedgerTerm> terms;  // in the order in which they arrived
    Tensor gradient;                // ∂(the root)/∂(the node's output): a copy, outside the graph
    bool hooked = false;            // a hook replaced the gradient
};

// While a GradientLedger is active, backward and grad on this thread note every gradient that passes. Ledgers
// nest, and the innermost receives the notes. A backward that throws adds no entries, and neither does one
// that a rule or a hook starts. Every gradient is copied, so use it on graphs small enough to read.
//
//     const Tensor x = tensor(3.0).requires_grad_();
//     const GradientLedger ledger;
//     (x * x).backward();
//     const LedgerEntry& last = ledger.entries().back();  // x: two terms of 3; last.gradient is 6
class GradientLedger : Observer {
public:
    GradientLedger() = default;

    // In the order in which backward visited the nodes: the root first, and each node after all that use it.
    const std::vector<LedgerEntry>& entries() const { return entries_; }

private:
    void begins(const Part& part) override;
    void ends(const Part& part, bool well) noexcept override;
    void passes(const Passed& edge) override;
    void visits(const Visited& node) override;
    std::vector<LedgerEntry> entries_;
    std::size_t first_ = 0;                                   // of those that a running backward adds
    std::map<std::uint64_t, std::vector<LedgerTerm>> terms_;  // of nodes that have not been visited
};

}  // namespace weft
