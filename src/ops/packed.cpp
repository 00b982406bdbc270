#include "weft/ops/packed.h"

#include "ops/common.h"
#include "ops/slots.h"

namespace weft {

std::optional<CompactWeight> compact(const Tensor& weight) {
    if (const PackedMatrix* blocks = weight.packed())
        return CompactWeight{kernels::compact(*blocks), blocks->memory()};
    if (computed_in(weight.dtype()) == weight.dtype() || weight.rank() != 2) return {};
    const Array half = kernels::contiguous(weight.array());
    return CompactWeight{kernels::compact(half), half.storage};
}

PackedMatrix pack(const Tensor& w, BlockFormat format) {
    if (!is_floating_point(w.dtype()))
        throw DTypeError("pack: takes a floating type, not ", name(w.dtype()), "; convert it with to(float32)");
    if (w.rank() != 2) throw ShapeError("pack: a weight of shape ", w.shape(), "; it must be a matrix (n, k)");
    if (!kernels::is_written(format))
        throw ValueError("pack: ", name(format), " is read from files and not written; use Q8_0, Q4_0 or Q4_1");
    const std::int64_t length = block_length(format);
    if (w.size(1) % length != 0)
        throw ShapeError("pack: rows of ", w.size(1), " weights do not divide into blocks of ", length,
                         ", which ", name(format), " has; keep this matrix in bfloat16 for half the bytes");
    const Array x = w.detach().to(float32).array();
    if (const std::int64_t wrong = kernels::first_unpackable(x, format); wrong >= 0)
        throw ValueError("pack: the ", length, " weights from ", format_index(wrong, w.shape()),
                         " on have a NaN, an infinity or a scale that float16 does not hold, and ",
                         name(format),
                         " needs finite ones; look for it with isfinite, or keep this weight in float32");
    return kernels::pack(x, format);
}

Tensor dequantize(const PackedMatrix& w) {
    if (w.columns() == 0) return zeros({w.rows(), 0});  // there may be any number of such rows
    return rows_at(*compact(Tensor(w)), arange(w.rows()));
}

Tensor rows_at(const CompactWeight& weight, const Tensor& ids) {
    const Array rows = make_array({ids.numel(), weight.matrix.k}, float32);
    kernels::widen_rows(rows, weight.matrix, ids.array());
    return Tensor(rows);
}

namespace {

Tensor small_compact_linear(const Inputs& in, const CompactLinearOptions& o) {
    return linear(in[0], rows_at(o.weight, arange(o.weight.matrix.n)), in[1]);
}

}  // namespace

Tensor compact_linear(const Tensor& x, const Tensor& weight, const CompactWeight& w, const Tensor& bias,
                      const Shape& shape, std::int64_t rows) {
    if (x.dtype() != float32)
        throw DTypeError("linear: a weight in half or in blocks is computed in float32, and x is ",
                         name(x.dtype()), "; convert x with to(float32), or the weight: to(), dequantize()");
    return run("linear", {x, bias, weight.packed() == nullptr ? weight : Tensor()},
               CompactLinearOptions{w, shape, rows}, small_compact_linear, compact_linear_kernel);
}

Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias) {
    return linear(x, Tensor(weight), bias);
}

Tensor embedding(const PackedMatrix& table, const Tensor& ids) { return embedding(Tensor(table), ids); }

}  // namespace weft
