// Dropout: zeroes random elements in training.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

// In training, each element becomes 0 with probability p and x / (1 − p) otherwise; in evaluation, or with
// p = 0, x is returned (Srivastava et al., "Dropout", JMLR 2014, §10, inverted). Any shape → the same.
// ValueError unless 0 ≤ p < 1. Draws come from a generator of its own (see Module::named_generators).
//
//     nn::Dropout drop(0.5, rng);
//     const Tensor noisy = drop(x);  // all(noisy == 0 || noisy == 2 * x)
//     drop.eval();
//     const Tensor same = drop(x);  // all(same == x)
struct Dropout : Module {
    const double p;         // probability of a zero
    const Shared<Rng> rng;  // its generator; null if p = 0

    Dropout(double p, Rng& rng = default_rng());  // draws a seed from `rng` if p > 0
    Tensor operator()(const Tensor& x) const;     // any shape → the same
};

// Returns p. ValueError, naming `what`, unless 0 ≤ p < 1.
//
//     const double p = nn::checked_probability(0.1, "Dropout");  // 0.1
double checked_probability(double p, const char* what);

}  // namespace weft::nn
