// Layers and transformer blocks: checks of their options, and initial values.
#include <cmath>

#include "nn/rng_guard.h"
#include "weft/nn/batch_norm.h"
#include "weft/nn/conv2d.h"
#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"
#include "weft/nn/encoder_decoder.h"
#include "weft/nn/init.h"
#include "weft/nn/layer_norm.h"
#include "weft/nn/linear.h"
#include "weft/nn/mlp.h"
#include "weft/nn/sequential.h"
#include "weft/nn/transformer.h"

namespace weft::nn {

namespace {

std::int64_t checked_size(std::int64_t size, const char* what) {
    if (size < 1) throw ValueError(what, " must be at least 1, not ", size);
    return size;
}

LayerNorm norm(std::int64_t d_model, const auto& options) {
    return LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias});
}

MLP feedforward(std::int64_t d_model, Rng& rng, const auto& options) {
    return MLP(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias});
}

MultiHeadAttention attention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                             const EncoderBlockOptions& options) {
    return MultiHeadAttention(d_model, num_heads, rng, {.bias = options.bias, .dropout = options.dropout});
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

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size, Rng& rng,
               const Conv2dOptions& o)
    : Module("Conv2d"), options{o.stride, o.padding, o.dilation, checked_size(o.groups, "Conv2d: groups")} {
    const std::int64_t in = checked_size(in_channels, "Conv2d: in_channels") / o.groups,
                       out = checked_size(out_channels, "Conv2d: out_channels"),
                       k = checked_size(kernel_size, "Conv2d: kernel_size");
    if (in_channels % o.groups != 0 || out % o.groups != 0)
        throw ValueError("Conv2d: ", o.groups, " groups do not divide ", in_channels, " and ", out,
                         " channels; both must be multiples");
    const double bound = 1 / (static_cast<double>(k) * std::sqrt(static_cast<double>(in)));
    weight = register_parameter("weight", uniform({out, in, k, k}, -bound, bound, rng));
    if (o.bias) bias = register_parameter("bias", uniform({out}, -bound, bound, rng));
}

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
    const Tensor y = batch_norm(x, {running_mean, running_var}, weight, bias, {training(), momentum, eps});
    Tensor batches = num_batches_tracked;
    if (training()) batches += 1;
    return y;
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

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, EncoderBlockOptions options)
    : EncoderBlock(d_model, num_heads, RngGuard(rng), options) {}

EncoderBlock::EncoderBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                           const EncoderBlockOptions& options)
    : Module("EncoderBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module("attn", attention(d_model, num_heads, rng, options))),
      norm2(register_module("norm2", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng, DecoderBlockOptions options)
    : DecoderBlock(d_model, num_heads, RngGuard(rng), options) {}

DecoderBlock::DecoderBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                           const DecoderBlockOptions& options)
    : Module("DecoderBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module("attn", attention(d_model, num_heads, rng, options))),
      norm2(register_module("norm2", norm(d_model, options))),
      cross(register_module("cross", attention(d_model, num_heads, rng, options))),
      norm3(register_module("norm3", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                   TransformerBlockOptions options)
    : TransformerBlock(d_model, num_heads, RngGuard(rng), options) {}

TransformerBlock::TransformerBlock(std::int64_t d_model, std::int64_t num_heads, const RngGuard& rng,
                                   const TransformerBlockOptions& options)
    : Module("TransformerBlock"),
      norm1(register_module("norm1", norm(d_model, options))),
      attn(register_module(
          "attn", CausalMultiHeadAttention(
                      d_model, num_heads, rng,
                      {.max_seq_len = options.max_seq_len, .bias = options.bias, .dropout = options.dropout}))),
      norm2(register_module("norm2", norm(d_model, options))),
      mlp(register_module("mlp", feedforward(d_model, rng, options))),
      drop(register_module("drop", Dropout(options.dropout, rng))) {}

}  // namespace weft::nn
