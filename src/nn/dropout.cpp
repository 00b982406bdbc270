#include "weft/nn/dropout.h"
#include "weft/ops/random.h"

namespace weft::nn {

double checked_probability(double p, const char* what) {
    if (!(p >= 0 && p < 1))
        throw ValueError(what, ": the dropout probability must be at least 0 and below 1, not ", p);
    return p;
}

Dropout::Dropout(double p, Rng& from)
    : Module("Dropout"),
      p(checked_probability(p, "Dropout")),
      rng(p > 0 ? register_generator("rng", from) : nullptr) {}

Tensor Dropout::operator()(const Tensor& x) const {
    Rng none;
    return located(*this, [&] { return dropout(x, p, rng ? *rng : none, training()); });
}

}  // namespace weft::nn
