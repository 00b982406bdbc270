// Rotary positions, a row after the other, in place.
#include "core/common.h"
#include "fast/sizes.h"
#include "ops/slots.h"

namespace weft::kernels::fast {
namespace {

// The pairs of x (…, T, d) turned at once by angles with these cosines and sines (T, r/2), contiguous.
Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin, RotaryPairs kind) {
    const Tensor y = x.clone();
    if (y.numel() == 0) return y;
    const std::int64_t d = x.size(-1), half = cos.size(-1), rows = x.numel() / d;
    const std::int64_t step = kind == RotaryPairs::halves ? 1 : 2, gap = kind == RotaryPairs::halves ? half : 1;
    const auto turn = [&]<class T>(T* data) {
        parallel_blocks(rows, std::max<std::int64_t>(1, row_grain / d),
                        [&](std::int64_t begin, std::int64_t end) {
                            for (std::int64_t row = begin; row < end; ++row) {
                                const std::int64_t at = row % cos.size(0) * half;
                                const T *c = cos.data<T>() + at, *s = sin.data<T>() + at;
                                T *a = data + row * d, *b = a + gap;
                                for (std::int64_t i = 0; i < half; ++i, a += step, b += step) {
                                    const T was = *a;
                                    *a = was * c[i] - *b * s[i];
                                    *b = was * s[i] + *b * c[i];
                                }
                            }
                        });
    };
    y.dtype() == float32 ? turn(y.data<float>()) : turn(y.data<double>());
    return y;
}

// Angles that take gradients need the definition's.
std::optional<FusedResult> rotary_at_once(const Inputs& in, const RotaryPairs& pairs) {
    if (in[1].requires_grad() || in[2].requires_grad()) return {};
    return FusedResult{turned(in[0], in[1].contiguous(), in[2].contiguous(), pairs)};
}

Grads rotary_rule(const Saved& saved, const Tensor& dy, const RotaryPairs& pairs) {  // turned back
    return Grads{turned(dy, saved[1].contiguous(), -saved[2], pairs), {}, {}};
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<RotaryPairs> rotary_kernel{kernels::fast::rotary_at_once, kernels::fast::rotary_rule};
}  // namespace weft
