// Dropout: forgets some elements while training.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// In training each element is 0 with probability p, else x / (1 − p); in evaluation, or with p = 0, x itself
// (Srivastava et al., "Dropout", JMLR 2014, in its inverted form). Any shape → the same. ValueError unless 0 ≤
// p < 1. It draws from a generator of its own, seeded from the constructor's (see Module::named_generators).
struct Dropout : Module {
    double p;                  // as made
    std::shared_ptr<Rng> rng;  // none when p = 0

    Dropout(double p, Rng& rng);               // takes a seed from `rng` when p > 0
    Tensor operator()(const Tensor& x) const;  // any shape → the same
};

// p itself. ValueError, naming `what`, unless 0 ≤ p < 1.
double checked_probability(double p, const char* what);

}  // namespace weft::nn
