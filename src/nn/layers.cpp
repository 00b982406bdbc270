// The small layers: checks of their options, and initial values.
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

std::int64_t checked_size(std::int64_t size, const char* what) {
    if (size < 1) throw ValueError(what, " must be at least 1, not ", size);
    return size;
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, Rng& rng) {
    if (rng.skips_init()) return zeros(shape);
    return rand(shape, rng) * (high - low) + low;
}

Tensor normal(const Shape& shape, double mean, double deviation, Rng& rng) {
    if (rng.skips_init()) return zeros(shape);
    Tensor x = randn(shape, rng);  // scaled in place: an embedding may be the largest tensor of a model
    x.mul_(deviation);
    return mean == 0 ? x : x + mean;
}

Linear::Linear(std::int64_t in_features, std::int64_t out_features, Rng& rng, bool with_bias)
    : Module("Linear") {
    const double bound = 1 / std::sqrt(static_cast<double>(checked_size(in_features, "Linear: in_features")));
    weight = register_parameter(
        "weight",
        uniform({checked_size(out_features, "Linear: out_features"), in_features}, -bound, bound, rng));
    if (with_bias) bias = register_parameter("bias", uniform({out_features}, -bound, bound, rng));
}

Linear::Linear(Tensor shared) : Module("Linear") {
    if (shared.rank() != 2) throw ShapeError("Linear: the weight must be (out, in), not ", shared.shape());
    weight = register_parameter("weight", std::move(shared));
}

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, Rng& rng)
    : Module("Embedding"),
      weight(register_parameter("weight", normal({checked_size(num_embeddings, "Embedding: num_embeddings"),
                                                  checked_size(embedding_dim, "Embedding: embedding_dim")},
                                                 0, 1, rng))) {}

LayerNorm::LayerNorm(std::int64_t dim, LayerNormOptions options)
    : Module("LayerNorm"),
      weight(register_parameter("weight", ones({checked_size(dim, "LayerNorm: dim")}))),
      eps(options.eps) {
    if (!(eps > 0)) throw ValueError("LayerNorm: eps must be above 0, not ", eps);
    if (options.bias) bias = register_parameter("bias", zeros({dim}));
}

double checked_probability(double p, const char* what) {
    if (!(p >= 0 && p < 1))
        throw ValueError(what, ": the dropout probability must be at least 0 and below 1, not ", p);
    return p;
}

Dropout::Dropout(double p, Rng& from) : Module("Dropout"), p(checked_probability(p, "Dropout")) {
    if (p > 0) rng = register_generator("rng", from);
}

Tensor Dropout::operator()(const Tensor& x) const {
    Rng none;
    return dropout(x, p, rng ? *rng : none, training());
}

Sequential::Sequential(std::initializer_list<Step> steps) : Module("Sequential") {
    for (const Step& step : steps) {
        if (step.module) register_module(std::to_string(steps_.size()), *step.module);
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
      W_in(register_module(
          "W_in", Linear(checked_size(d_model, "MLP: d_model"),
                         checked_size(options.dim_feedforward == 0 ? 4 * d_model : options.dim_feedforward,
                                      "MLP: dim_feedforward"),
                         rng, options.bias))),
      W_out(register_module("W_out", Linear(W_in.weight.size(0), d_model, rng, options.bias))) {}

}  // namespace weft::nn
