// What the engine writes of one backward: into a page, which joins the ledger only when all has gone well.
#pragma once

#include <map>
#include <vector>

#include "core/autograd/node.h"
#include "weft/core/ledger.h"

namespace weft {

class LedgerRecorder {
public:
    // For this thread's ledger, or for none. The ledger is out of reach while the page lives, so that a
    // backward inside a rule writes nothing.
    LedgerRecorder();
    ~LedgerRecorder();
    LedgerRecorder(const LedgerRecorder&) = delete;
    LedgerRecorder& operator=(const LedgerRecorder&) = delete;

    // Both do nothing without a ledger. `from` is null for the seed.
    void record_term(const Node* from, std::size_t input, const Node& to, const Tensor& gradient) {
        if (ledger_ != nullptr) [[unlikely]]
            write_term(from, input, to, gradient);
    }
    void record_entry(const Node& node, const Tensor& gradient, bool hooked) {
        if (ledger_ != nullptr) [[unlikely]]
            write_entry(node, gradient, hooked);
    }
    void commit();  // the ledger has the page's entries now

private:
    void write_term(const Node* from, std::size_t input, const Node& to, const Tensor& gradient);
    void write_entry(const Node& node, const Tensor& gradient, bool hooked);

    GradientLedger* ledger_;
    std::map<std::uint64_t, std::vector<LedgerTerm>>
        pending_terms_;  // by the number of the node that they came to
    std::vector<LedgerEntry> entries_;
};

}  // namespace weft
