// What several layers are made of, and the check of their sizes.
#pragma once

#include "weft/nn/layer_norm.h"
#include "weft/nn/mlp.h"

namespace weft::nn {

inline std::int64_t checked_size(std::int64_t size, const char* what) {
    if (size < 1) throw ValueError(what, " must be at least 1, not ", size);
    return size;
}

inline LayerNorm norm(std::int64_t d_model, const auto& options) {
    return LayerNorm(d_model, {.eps = options.layer_norm_eps, .bias = options.bias});
}

inline MLP feedforward(std::int64_t d_model, Rng& rng, const auto& options) {
    return MLP(d_model, rng, {.dim_feedforward = options.dim_feedforward, .bias = options.bias});
}

}  // namespace weft::nn
