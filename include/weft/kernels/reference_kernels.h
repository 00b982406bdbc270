// Which of the two readings of the kernels runs.
#pragma once

#include "weft/base/scoped.h"

namespace weft {

// While such a guard is active, every kernel is the plain loops of src/kernels/reference instead of the
// vectors, blocks and threads of src/kernels/fast: the same values up to rounding, and what a debugger can step
// through. Beside Composed (weft/autograd/grad_mode.h), which says what an operation is made of. Guards nest
// and belong to one thread; a backward pass is computed by the kernels that are active when it runs.
//
//     const Tensor x = randn({4, 8}, rng);
//     const Tensor fast = softmax(x, -1);
//     const ReferenceKernels plain;
//     const Tensor slow = softmax(x, -1);  // the same values up to rounding
class [[nodiscard]] ReferenceKernels {
public:
    explicit ReferenceKernels(bool reference = true);  // false: the fast ones again, inside another guard

private:
    Scoped<bool> mode_;
};
// Whether a ReferenceKernels guard is active in this thread.
//
//     const ReferenceKernels plain;
//     const bool reference = reference_kernels();  // true
bool reference_kernels();

}  // namespace weft
