#include "weft/nn/layers.h"

#include <cmath>

#include "nn/parts.h"
#include "weft/core/creation.h"
#include "weft/core/record.h"
#include "weft/nn/init.h"
#include "weft/ops/creation.h"
#include "weft/ops/norms.h"

namespace weft::nn {

Sequential::Sequential(std::initializer_list<Step> steps) : Module("Sequential") {
    for (const Step& step : steps) {
        if (step.module) register_module(std::to_string(steps_.size()), *step.module);
        steps_.push_back(step.call);
    }
}

Tensor Sequential::operator()(const Tensor& x) const {
    const Lent lent("a step of Sequential", {&x, 1});
    return located(*this, [&] {
        Tensor y = x;
        for (const auto& step : steps_) y = step(y);
        return y;
    });
}

namespace {

// Uniform in ±1/√in.
Tensor initial(const Shape& shape, std::int64_t in_features, Rng& rng) {
    const double bound = 1 / std::sqrt(static_cast<double>(checked_size(in_features, "Linear: in_features")));
    return uniform(shape, -bound, bound, rng);
}

const Tensor& checked_weight(const Tensor& weight) {
    if (weight.rank() != 2) throw ShapeError("Linear: the weight must be (out, in), not ", weight.shape());
    return weight;
}

}  // namespace

Linear::Linear(std::int64_t in_features, std::int64_t out_features, Rng& rng, bool with_bias)
    : Module("Linear"),
      weight(register_weight(
          "weight",
          initial({checked_size(out_features, "Linear: out_features"), in_features}, in_features, rng))),
      bias(with_bias ? register_parameter("bias", initial({out_features}, in_features, rng)) : Parameter()) {}

Linear::Linear(Tensor shared, Tensor bias)
    : Module("Linear"),
      weight(register_weight("weight", checked_weight(shared))),
      bias(bias.defined() ? register_parameter("bias", std::move(bias)) : Parameter()) {}

Embedding::Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, Rng& rng)
    : Module("Embedding"),
      weight(register_weight("weight", normal({checked_size(num_embeddings, "Embedding: num_embeddings"),
                                               checked_size(embedding_dim, "Embedding: embedding_dim")},
                                              0, 1, rng))) {}

Embedding::Embedding(Tensor table) : Module("Embedding"), weight(register_weight("weight", table)) {
    if (table.rank() != 2)
        throw ShapeError("Embedding: the table must be (num_embeddings, embedding_dim), not ", table.shape());
}

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

LayerNorm::LayerNorm(std::int64_t dim, LayerNormOptions options)
    : Module("LayerNorm"),
      weight(register_parameter("weight", ones({checked_size(dim, "LayerNorm: dim")}))),
      bias(options.bias ? register_parameter("bias", zeros({dim})) : Parameter()),
      eps(options.eps) {
    if (!(eps > 0)) throw ValueError("LayerNorm: eps must be above 0, not ", eps);
}

RMSNorm::RMSNorm(std::int64_t dim, RMSNormOptions options)
    : Module("RMSNorm"),
      weight(register_parameter("weight", ones({checked_size(dim, "RMSNorm: dim")}))),
      eps(options.eps) {
    if (eps && !(*eps > 0)) throw ValueError("RMSNorm: eps must be above 0, not ", *eps);
}

MLP::MLP(std::int64_t d_model, Rng& rng, MLPOptions options)
    : Module("MLP"),
      W_in(register_module(
          "W_in", Linear(checked_size(d_model, "MLP: d_model"),
                         checked_size(options.dim_feedforward == 0 ? 4 * d_model : options.dim_feedforward,
                                      "MLP: dim_feedforward"),
                         rng, options.bias))),
      W_out(register_module("W_out", Linear(W_in.weight.size(0), d_model, rng, options.bias))) {}

namespace {

std::int64_t hidden_width(std::int64_t d_model, std::int64_t dim_feedforward) {
    checked_size(d_model, "GatedMLP: d_model");
    return checked_size(dim_feedforward == 0 ? 8 * d_model / 3 : dim_feedforward, "GatedMLP: dim_feedforward");
}

}  // namespace

GatedMLP::GatedMLP(std::int64_t d_model, Rng& rng, GatedMLPOptions options)
    : GatedMLP(d_model, hidden_width(d_model, options.dim_feedforward), options.bias, rng) {}

GatedMLP::GatedMLP(std::int64_t d_model, std::int64_t hidden, bool bias, Rng& rng)
    : Module("GatedMLP"),
      gate_proj(register_module("gate_proj", Linear(d_model, hidden, rng, bias))),
      up_proj(register_module("up_proj", Linear(d_model, hidden, rng, bias))),
      down_proj(register_module("down_proj", Linear(hidden, d_model, rng, bias))) {}

namespace {

Shape checked_shape(std::int64_t in, std::int64_t out, std::int64_t k, std::int64_t groups) {
    checked_size(groups, "Conv2d: groups");
    checked_size(in, "Conv2d: in_channels");
    checked_size(out, "Conv2d: out_channels");
    checked_size(k, "Conv2d: kernel_size");
    if (in % groups != 0 || out % groups != 0)
        throw ValueError("Conv2d: ", groups, " groups do not divide ", in, " and ", out,
                         " channels; both must be multiples");
    return {out, in / groups, k, k};
}

// Uniform in ±1/√(in / groups · k²), for a weight of shape `filters`.
Tensor initial_of_filters(const Shape& shape, const Shape& filters, Rng& rng) {
    const double bound = 1 / (static_cast<double>(filters[2]) * std::sqrt(static_cast<double>(filters[1])));
    return uniform(shape, -bound, bound, rng);
}

}  // namespace

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Rng& rng,
               const Conv2dOptions& o)
    : Conv2d(checked_shape(in_channels, out_channels, kernel_size, o.groups), rng, o) {}

Conv2d::Conv2d(const Shape& filters, Rng& rng, const Conv2dOptions& o)
    : Module("Conv2d"),
      weight(register_parameter("weight", initial_of_filters(filters, filters, rng))),
      bias(o.bias ? register_parameter("bias", initial_of_filters({filters[0]}, filters, rng)) : Parameter()),
      options{o.stride, o.padding, o.dilation, o.groups} {}

BatchNorm::BatchNorm(std::int64_t num_features, double eps, double momentum)
    : Module("BatchNorm"),
      weight(register_parameter("weight", ones({checked_size(num_features, "BatchNorm: num_features")}))),
      bias(register_parameter("bias", zeros({num_features}))),
      running_mean(register_buffer("running_mean", zeros({num_features}))),
      running_var(register_buffer("running_var", ones({num_features}))),
      num_batches_tracked(register_buffer("num_batches_tracked", zeros({}, int64))),
      eps(eps),
      momentum(momentum) {
    if (!(eps > 0)) throw ValueError("BatchNorm: eps must be above 0, not ", eps);
}

Tensor BatchNorm::operator()(const Tensor& x) const {
    const Tensor y = located(*this, [&] {
        return batch_norm(x, {running_mean, running_var}, weight, bias, {training(), momentum, eps});
    });
    Tensor batches = num_batches_tracked;
    if (training()) batches += 1;
    return y;
}

}  // namespace weft::nn
