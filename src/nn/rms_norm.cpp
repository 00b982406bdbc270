#include "weft/nn/rms_norm.h"

#include "nn/parts.h"
#include "weft/ops/creation.h"

namespace weft::nn {

RMSNorm::RMSNorm(std::int64_t dim, std::optional<double> eps)
    : Module("RMSNorm"),
      weight(register_parameter("weight", ones({checked_size(dim, "RMSNorm: dim")}))),
      eps(eps) {
    if (eps && !(*eps > 0)) throw ValueError("RMSNorm: eps must be above 0, not ", *eps);
}

}  // namespace weft::nn
