#include "weft/nn/rms_norm.h"

#include "nn/parts.h"
#include "weft/ops/creation.h"

namespace weft::nn {

RMSNorm::RMSNorm(std::int64_t dim, RMSNormOptions options)
    : Module("RMSNorm"),
      weight(register_parameter("weight", ones({checked_size(dim, "RMSNorm: dim")}))),
      eps(options.eps) {
    if (eps && !(*eps > 0)) throw ValueError("RMSNorm: eps must be above 0, not ", *eps);
}

}  // namespace weft::nn
