// The gradient ledger: what passes along each edge of the graph during backward, and what it adds up to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/core/observer.h"
#include "weft/core/tensor.h"

namespace weft {

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
