// Nothing stands in the slots: every program means what it says, slowly.
#include "core/run.h"
#include "ops/common.h"

namespace weft {

constinit const kernels::Installed kernels::installed{};
constinit const kernels::InstalledInOps kernels::installed_in_ops{};
constinit const Kernel<LinearOptions> linear_kernel{};
constinit const Kernel<NormOptions> layer_norm_kernel{}, rms_norm_kernel{};
constinit const Kernel<Gelu> gelu_kernel{};
constinit const Kernel<ClassOptions> cross_entropy_kernel{};
constinit const Kernel<RotaryPairs> rotary_kernel{};
constinit const Kernel<AttentionSetup> attention_kernel{};
constinit const Kernel<PackedSetup> packed_attention_kernel{};

}  // namespace weft
