// Internal: Undoes the draws of a constructor that throws.
#pragma once

#include <exception>

#include "weft/core/random.h"

namespace weft::nn {

// If an exception destroys it, puts the generator back to where it was. A constructor that draws more than once
// delegates to one that takes a guard: the guard lives until that one has returned or thrown.
class RngGuard {
public:
    explicit RngGuard(Rng& rng) : rng_(rng), before_(rng.state()), exceptions_(std::uncaught_exceptions()) {}
    ~RngGuard() {
        if (std::uncaught_exceptions() > exceptions_) rng_.set_state(before_);
    }
    RngGuard(const RngGuard&) = delete;
    RngGuard& operator=(const RngGuard&) = delete;
    operator Rng&() const { return rng_; }

private:
    Rng& rng_;
    Rng::State before_;
    int exceptions_;
};

}  // namespace weft::nn
