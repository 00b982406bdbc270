// The small layers: what they check when they are made, and their first values.
#include <cmath>

#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"
#include "weft/nn/init.h"
#include "weft/nn/layer_norm.h"
#include "weft/nn/linear.h"
#include "weft/nn/mlp.h"
#include "weft/nn/sequential.h"

namespace weft::nn {

namespace {

std::int64_t positive(std::int64_t size, const char* what) {
    if (size < 1) throw ValueError(std::string(what) + " must be at least 1, not " + std::to_string(size));
    return size;
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, Rng& rng) {
    if (rng.gives_zeros()) return zeros(shape);
    return rand(shape, rng) * (high - low) + low;
}

Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng) {
    if (rng.gives_zeros()) return zeros(shape);
    Tensor x = randn(shape, rng);  // scaled in place: an embedding may be the largest tensor there is
    x.mul_(deviation);
    return mean == 0 ? x : x + mean;
}

Linear::Linear(std::int64_t in, std::int64_t out, Rng& rng, bool with_bias) : Module("Linear") {
    const double bound = 1 / std::sqrt(static_cast<double>(positive(in, "Linear: in")));
    weight = parameter("weight", uniform({positive(out, "Linear: out"), in}, -bound, bound, rng));
    if (with_bias) bias = parameter("bias", uniform({out}, -bound, bound, rng));
}

Linear::Linear(Tensor shared) : Module("Linear") {
    if (shared.rank() != 2) throw ShapeError("Linear: a weight is (out, in), not " + shared.shape().str());
    weight = parameter("weight", std::move(shared));
}

Embedding::Embedding(std::int64_t count, std::int64_t dim, Rng& rng)
    : Module("Embedding"),
      weight(parameter("weight", normal({positive(count, "Embedding: count"), positive(dim, "Embedding: dim")},
                                        0, 1, rng))) {}

LayerNorm::LayerNorm(std::int64_t dim, LayerNormOptions options)
    : Module("LayerNorm"),
      weight(parameter("weight", ones({positive(dim, "LayerNorm: dim")}))),
      eps(options.eps) {
    if (!(eps > 0)) throw ValueError("LayerNorm: eps must be above 0, not " + std::to_string(eps));
    if (options.bias) bias = parameter("bias", zeros({dim}));
}

double checked_probability(double p, const char* what) {
    if (!(p >= 0 && p < 1))
        throw ValueError(std::string(what) +
                         ": the probability of dropping must be at least 0 and below 1, not " +
                         std::to_string(p));
    return p;
}

Dropout::Dropout(double p, Rng& from) : Module("Dropout"), p(checked_probability(p, "Dropout")) {
    if (p > 0) rng = generator("rng", from);
}

Tensor Dropout::operator()(const Tensor& x) const {
    Rng none;
    return dropout(x, p, rng ? *rng : none, training());
}

Sequential::Sequential(std::initializer_list<Step> steps) : Module("Sequential") {
    for (const Step& step : steps) {
        if (step.module) child(std::to_string(steps_.size()), *step.module);
        steps_.push_back(step.call);
    }
}

Tensor Sequential::operator()(const Tensor& x) const {
    Tensor y = x;
    for (const auto& step : steps_) y = step(y);
    return y;
}

MLP::MLP(std::int64_t d_model, Rng& rng, MLPOptions options)
    : Module("MLP"),
      W_in(child("W_in", Linear(positive(d_model, "MLP: d_model"),
                                positive(options.hidden == 0 ? 4 * d_model : options.hidden, "MLP: hidden"),
                                rng, options.bias))),
      W_out(child("W_out", Linear(W_in.weight.size(0), d_model, rng, options.bias))) {}

}  // namespace weft::nn
