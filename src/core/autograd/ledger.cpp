#include "weft/core/ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/autograd/ledger_recorder.h"

namespace weft {

constinit thread_local GradientLedger* GradientLedger::current_ = nullptr;

GradientLedger::GradientLedger() : before_(current_) { current_ = this; }
GradientLedger::~GradientLedger() { current_ = before_; }

LedgerRecorder::LedgerRecorder() : ledger_(std::exchange(GradientLedger::current_, nullptr)) {}
LedgerRecorder::~LedgerRecorder() { GradientLedger::current_ = ledger_; }

void LedgerRecorder::record_term(const Node* consumer, std::size_t input, const Node& node,
                                 const Tensor& gradient) {
    if (ledger_ == nullptr) return;
    terms_[node.number].push_back({consumer ? consumer->number : 0, consumer ? consumer->operation : "seed",
                                   input, Tensor(copy_of(gradient.array()))});
}

void LedgerRecorder::record_entry(const Node& node, const Tensor& gradient, bool hooked) {
    if (ledger_ == nullptr) return;
    const int backward = ledger_->entries_.empty() ? 1 : ledger_->entries_.back().backward + 1;
    entries_.push_back({backward, node.number, node.operation, std::move(terms_[node.number]),
                        Tensor(copy_of(gradient.array())), hooked});
}

void LedgerRecorder::commit() {
    if (ledger_ != nullptr) std::ranges::move(entries_, std::back_inserter(ledger_->entries_));
}

}  // namespace weft
