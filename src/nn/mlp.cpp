#include "weft/nn/mlp.h"

#include "nn/parts.h"

namespace weft::nn {

MLP::MLP(std::int64_t d_model, Rng& rng, MLPOptions options)
    : Module("MLP"),
      W_in(register_module(
          "W_in", Linear(checked_size(d_model, "MLP: d_model"),
                         checked_size(options.dim_feedforward == 0 ? 4 * d_model : options.dim_feedforward,
                                      "MLP: dim_feedforward"),
                         rng, options.bias))),
      W_out(register_module("W_out", Linear(W_in.weight.size(0), d_model, rng, options.bias))) {}

}  // namespace weft::nn
