#include "weft/packed/packed.h"

#include "core/common.h"
#include "packed/packed.h"
#include "weft/core/raw.h"

namespace weft {

Tensor pack(const Tensor& w, BlockFormat format) {
    if (!is_floating_point(w.dtype()))
        throw DTypeError("pack: takes a floating type, not ", name(w.dtype()), "; convert it with to(float32)");
    if (w.rank() != 2) throw ShapeError("pack: a weight of shape ", w.shape(), "; it must be a matrix (n, k)");
    if (!kernels::is_written(format))
        throw ValueError("pack: ", name(format), " is read from files and not written; use Q8_0, Q4_0 or Q4_1");
    (void)check_sizes(w.shape(), format, "pack");
    const Array x = w.detach().to(float32).array();
    if (const std::int64_t wrong = kernels::first_unpackable(x, format); wrong >= 0)
        throw ValueError(
            "pack: the ", blocks_of(format).length, " weights from ", format_index(wrong, w.shape()),
            " on have a NaN, an infinity or a scale that float16 does not hold, and ", name(format),
            " needs finite ones; look for it with isfinite, or keep this weight in float32");
    return Tensor(kernels::pack(x, format));
}

Tensor dequantize(const Tensor& w) { return w.to(float32); }

std::span<const std::byte> bytes_of(const Tensor& w) { return std::as_bytes(std::span(raw_values(w))); }

}  // namespace weft
