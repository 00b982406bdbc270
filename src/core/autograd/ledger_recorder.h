// What the engine writes of one backward: into a page, which joins the ledger only when all has gone well.
#pragma once

#include <map>
#include <vector>

#include "core/autograd/node.h"
#include "weft/core/ledger.h"

namespace weft {

class LedgerPage {
public:
    // For this thread's ledger, or for none. The ledger is out of reach while the page lives, so that a
    // backward inside a rule writes nothing.
    LedgerPage();
    ~LedgerPage();
    LedgerPage(const LedgerPage&) = delete;
    LedgerPage& operator=(const LedgerPage&) = delete;

    // Both do nothing without a ledger. `from` is null for the seed.
    void gives(const Node* from, std::size_t input, const Node& to, const Tensor& gradient) {
        if (ledger_ != nullptr) [[unlikely]]
            write_term(from, input, to, gradient);
    }
    void visits(const Node& node, const Tensor& gradient, bool hooked) {
        if (ledger_ != nullptr) [[unlikely]]
            write_entry(node, gradient, hooked);
    }
    void close();  // the ledger has the page's entries now

private:
    void write_term(const Node* from, std::size_t input, const Node& to, const Tensor& gradient);
    void write_entry(const Node& node, const Tensor& gradient, bool hooked);

    GradientLedger* ledger_;
    std::map<std::uint64_t, std::vector<LedgerTerm>> waiting_;  // by the number of the node that they came to
    std::vector<LedgerEntry> entries_;
};

}  // namespace weft
