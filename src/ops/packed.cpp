#include "weft/ops/packed.h"

#include "ops/common.h"
#include "ops/packed.h"

namespace weft {

Array as_rows(const Array& x, std::int64_t rows) {
    const Array dense = kernels::contiguous(x);
    return view_of(dense, {rows, x.shape[-1]}, {x.shape[-1], 1}, dense.offset);
}

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
    kernels::active().widen_rows(rows, weight.matrix, ids.array());
    return Tensor(rows);
}

namespace {

// Whether products take this weight as it is: a matrix of bfloat16, while they round to that.
bool is_operand(const Tensor& weight) {
    return weight.defined() && weight.packed() == nullptr && weight.dtype() == kernels::operand_type(float32);
}

// y = x W, or y + x W.
void multiply(const Array& y, const Array& x, const Array& w, bool adds) {
    const kernels::Product product{y, kernels::operand(x), w, adds};
    kernels::active().products({&product, 1});
}

}  // namespace

Tensor compact_linear(const Tensor& x, const Tensor& weight, const CompactWeight& w, const Tensor& bias,
                      const Shape& shape, std::int64_t rows) {
    if (x.dtype() != float32)
        throw DTypeError("linear: a weight in half or in blocks is computed in float32, and x is ",
                         name(x.dtype()), "; convert x with to(float32), or the weight: to(), dequantize()");
    return fused(
        "linear", {x, bias, weight.packed() == nullptr ? weight : Tensor()},
        [w](const std::vector<Tensor>& in) { return linear(in[0], rows_at(w, arange(w.matrix.n)), in[1]); },
        [&] {  // y = x Wᵀ + b
            const Tensor y = empty(shape, float32);
            if (bias.defined()) kernels::active().copy(y.array(), broadcast_view(bias.array(), shape));
            const Array to = as_rows(y.array(), rows), from = as_rows(x.array(), rows);
            if (is_operand(weight))
                multiply(to, from, transposed_view(kernels::operand(weight.array()), 0, 1), bias.defined());
            else
                kernels::active().packed_linear(to, kernels::dense_operand(from), w.matrix, bias.defined());
            return FusedResult{y};
        },
        [w, rows](const Saved& saved, const Tensor& dy) {
            Grads grads(3);
            if (saved.needs_input_grad(0)) {
                grads[0] = empty(saved[0].shape(), float32);  // dx = dy W
                const Array to = as_rows(grads[0].array(), rows), from = as_rows(dy.array(), rows);
                if (is_operand(saved[2]))
                    multiply(to, from, kernels::operand(saved[2].array()), false);
                else
                    kernels::active().packed_linear_backward(to, kernels::dense_operand(from), w.matrix);
            }
            if (saved.needs_input_grad(1)) grads[1] = sum_to(dy, saved[1].shape());
            return grads;
        });
}

Tensor linear(const Tensor& x, const PackedMatrix& weight, const Tensor& bias) {
    return linear(x, Tensor(weight), bias);
}

Tensor embedding(const PackedMatrix& table, const Tensor& ids) { return embedding(Tensor(table), ids); }

}  // namespace weft
