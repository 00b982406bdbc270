// A place where something else may stand in for a function.
#pragma once

#include <utility>

#include "weft/core/plain.h"

namespace weft::kernels {

// A primitive. Its plain loops, written beside it, are what it means; where src/fast has something faster, that
// runs, except under Plain(Plain::primitives). It is known before any program starts.
template <class Function>
class Slot;
template <class Result, class... Arguments>
class Slot<Result(Arguments...)> {
public:
    using Type = Result(Arguments...);
    constexpr Slot(Type* plain, Type* const& fast) : plain_(plain), fast_(&fast) {}
    bool is_plain() const { return *fast_ == nullptr || weft::is_plain(Plain::primitives); }
    Result operator()(Arguments... arguments) const {
        return (is_plain() ? plain_ : *fast_)(std::forward<Arguments>(arguments)...);
    }

private:
    Type* plain_;
    Type* const* fast_;  // null where nothing stands in
};

}  // namespace weft::kernels
