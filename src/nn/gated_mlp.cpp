#include "weft/nn/gated_mlp.h"

#include "nn/parts.h"

namespace weft::nn {

GatedMLP::GatedMLP(std::int64_t d_model, Rng& rng, GatedMLPOptions options)
    : Module("GatedMLP"),
      gate_proj(register_module(
          "gate_proj",
          Linear(checked_size(d_model, "GatedMLP: d_model"),
                 checked_size(options.dim_feedforward == 0 ? 8 * d_model / 3 : options.dim_feedforward,
                              "GatedMLP: dim_feedforward"),
                 rng, options.bias))),
      up_proj(register_module("up_proj", Linear(d_model, gate_proj.weight.size(0), rng, options.bias))),
      down_proj(register_module("down_proj", Linear(gate_proj.weight.size(0), d_model, rng, options.bias))) {}

}  // namespace weft::nn
