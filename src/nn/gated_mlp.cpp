#include "weft/nn/gated_mlp.h"

#include "nn/parts.h"

namespace weft::nn {

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

}  // namespace weft::nn
