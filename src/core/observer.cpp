#include "weft/core/observer.h"

#include <exception>
#include <typeinfo>

#include "weft/core/error.h"

namespace weft {

Observer::Observer(unsigned blocks, bool refuses)
    : outer_(innermost_), depth_(watching() + 1), blocks_(blocks), refuses_(refuses) {
    innermost_ = this;
}

Observer::~Observer() noexcept(false) {
    if (innermost_ == this) {
        innermost_ = outer_;
        return;
    }
    Observer* inner = innermost_;
    while (inner != nullptr && inner->outer_ != this) inner = inner->outer_;
    if (inner == nullptr) std::terminate();  // its own thread would go on to tell it
    inner->outer_ = outer_;
    if (refuses_ && std::uncaught_exceptions() == 0)
        throw GraphError(
            "Observer: one is destroyed before another that was made later; let the later go out of scope "
            "first");
}

bool Observer::is_replaced(int depth) const {
    for (const Observer* one = innermost_; one != this; one = one->outer_)
        if (one->depth_ <= depth && typeid(*one) == typeid(*this)) return true;
    return false;
}

namespace {
Observer::Event event_of(const Observer::Part& part) {
    return part.kind == Observer::Part::backward ? Observer::passing : Observer::parts;
}
}  // namespace

void Watched::begin() {
    exceptions_ = std::uncaught_exceptions();
    const Observer* failed = nullptr;
    try {
        Observer::tell(by_, event_of(part_), [&](Observer& one) {
            failed = &one;
            one.begins(part_);
        });
    } catch (...) {
        bool heard = true;
        Observer::tell(by_, event_of(part_), [&](Observer& one) {
            heard = heard && &one != failed;
            if (heard) one.ends(part_, false);
        });
        throw;
    }
}

void Watched::end() const noexcept {
    const bool well = std::uncaught_exceptions() == exceptions_;
    Observer::tell(by_, event_of(part_), [&](Observer& one) { one.ends(part_, well); });
}

}  // namespace weft
