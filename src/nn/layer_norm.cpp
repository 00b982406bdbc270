#include "weft/nn/layer_norm.h"

#include "nn/parts.h"
#include "weft/ops/creation.h"

namespace weft::nn {

LayerNorm::LayerNorm(std::int64_t dim, LayerNormOptions options)
    : Module("LayerNorm"),
      weight(register_parameter("weight", ones({checked_size(dim, "LayerNorm: dim")}))),
      bias(options.bias ? register_parameter("bias", zeros({dim})) : Parameter()),
      eps(options.eps) {
    if (!(eps > 0)) throw ValueError("LayerNorm: eps must be above 0, not ", eps);
}

}  // namespace weft::nn
