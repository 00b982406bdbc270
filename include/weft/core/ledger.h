// The gradient ledger: what each edge of the graph gave in a backward, and what it added up to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

// What came to a node along one edge: one term of the chain rule's sum.
struct LedgerTerm {
    std::uint64_t from = 0;  // the number of the node whose rule gave it (see graph_number); 0: the seed
    std::string operation;   // of that node; "seed"
    std::size_t input = 0;   // which input of that operation the receiver is
    Tensor gradient;         // a copy, outside the graph
};

// A node as backward came by. Σ terms = gradient, unless a hook put another in its place.
struct LedgerEntry {
    int backward = 1;               // which one since the ledger was made, counted from 1
    std::uint64_t number = 0;       // the node's; see graph_number
    std::string operation;          // "leaf" for a leaf
    std::vector<LedgerTerm> terms;  // in the order in which they came
    Tensor gradient;                // ∂(the root)/∂(the node's output): a copy, outside the graph
    bool hooked = false;            // a hook has replaced it
};

// While one of these lives, backward and grad on this thread write down every gradient that passes. They nest:
// the innermost gets it all. A backward that throws leaves no entries; one that a rule or a hook starts is part
// of that rule, and not written down. Each gradient is copied: made for graphs that are to be read.
class GradientLedger {
public:
    GradientLedger();
    ~GradientLedger();
    GradientLedger(const GradientLedger&) = delete;
    GradientLedger& operator=(const GradientLedger&) = delete;

    // In the order in which backward visited the nodes: the root first, each after all that use it.
    const std::vector<LedgerEntry>& entries() const { return entries_; }

private:
    friend class LedgerRecorder;  // the engine's hand (src/core/autograd/ledger_recorder.h)
    static constinit thread_local GradientLedger* current_;
    GradientLedger* before_;
    std::vector<LedgerEntry> entries_;
};

}  // namespace weft
