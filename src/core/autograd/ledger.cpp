#include "weft/core/ledger.h"

#include <iterator>

#include "core/autograd/ledger_recorder.h"
#include "core/autograd/tensor_impl.h"

namespace weft {

constinit thread_local GradientLedger* GradientLedger::current_ = nullptr;

GradientLedger::GradientLedger() : before_(current_) { current_ = this; }
GradientLedger::~GradientLedger() { current_ = before_; }

LedgerRecorder::LedgerRecorder() : ledger_(GradientLedger::current_) { GradientLedger::current_ = nullptr; }
LedgerRecorder::~LedgerRecorder() { GradientLedger::current_ = ledger_; }

void LedgerRecorder::write_term(const Node* consumer, std::size_t input, const Node& node,
                                const Tensor& gradient) {
    pending_terms_[node.number].push_back({consumer ? consumer->number : 0,
                                           consumer ? consumer->operation : "seed", input,
                                           Tensor(copy_of(gradient.array()))});
}

void LedgerRecorder::write_entry(const Node& node, const Tensor& gradient, bool hooked) {
    LedgerEntry entry;
    entry.number = node.number;
    entry.operation = node.operation;
    entry.terms = std::move(pending_terms_[node.number]);
    entry.gradient = Tensor(copy_of(gradient.array()));
    entry.hooked = hooked;
    pending_terms_.erase(node.number);
    entries_.push_back(std::move(entry));
}

void LedgerRecorder::commit() {
    if (ledger_ == nullptr) return;
    std::vector<LedgerEntry>& all = ledger_->entries_;
    const int backward = all.empty() ? 1 : all.back().backward + 1;
    for (LedgerEntry& entry : entries_) entry.backward = backward;
    all.insert(all.end(), std::move_iterator(entries_.begin()), std::move_iterator(entries_.end()));
}

}  // namespace weft
