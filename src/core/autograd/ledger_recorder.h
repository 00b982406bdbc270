// Notes of one backward, which join the ledger only when backward has succeeded.
#pragma once

#include <map>
#include <vector>

#include "core/autograd/node.h"
#include "weft/core/ledger.h"

namespace weft {

class LedgerRecorder {
public:
    // Hides this thread's ledger, if any, while it exists, so a backward inside a rule adds no notes.
    LedgerRecorder();
    ~LedgerRecorder();
    LedgerRecorder(const LedgerRecorder&) = delete;
    LedgerRecorder& operator=(const LedgerRecorder&) = delete;

    // All do nothing without a ledger. `consumer` is null for the seed; commit adds the notes to the ledger.
    void record_term(const Node* consumer, std::size_t input, const Node& node, const Tensor& gradient);
    void record_entry(const Node& node, const Tensor& gradient, bool hooked);
    void commit();

private:
    GradientLedger* const ledger_;
    std::map<std::uint64_t, std::vector<LedgerTerm>> terms_;  // by the receiving node's number
    std::vector<LedgerEntry> entries_;
};

}  // namespace weft
