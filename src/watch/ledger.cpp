#include "weft/watch/ledger.h"

#include "core/node.h"

namespace weft {

void GradientLedger::begins(const Part& part) {
    if (part.kind != Part::backward) return;
    first_ = entries_.size();
    terms_.clear();
}

void GradientLedger::ends(const Part& part, bool well) noexcept {
    if (part.kind != Part::backward) return;
    if (!well) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(first_), entries_.end());
}

void GradientLedger::passes(const Passed& edge) {
    terms_[edge.to].push_back({edge.from, edge.operation, edge.input, Tensor(copy_of(edge.gradient.array()))});
}

void GradientLedger::visits(const Visited& node) {
    const int before = first_ == 0 ? 0 : entries_[first_ - 1].backward;
    entries_.push_back({before + 1, node.number, node.operation, std::move(terms_[node.number]),
                        Tensor(copy_of(node.gradient.array())), node.hooked});
    terms_.erase(node.number);
}

}  // namespace weft
