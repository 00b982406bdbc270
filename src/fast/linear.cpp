// linear: one product, with the bias as what it adds to, and both products of backward as one region.
#include <mutex>

#include "fast/gemm.h"
#include "ops/common.h"
#include "ops/slots.h"

namespace weft::kernels::fast {
namespace {

// x (…, n) as (rows, n), in x's memory if it is contiguous.
Array as_rows(const Array& x, std::int64_t rows) {
    const Array dense = contiguous(x);
    return view_of(dense, {rows, x.shape[-1]}, {x.shape[-1], 1}, dense.offset);
}

// A weight as an operand in bfloat16, and of which view of the memory at which version.
struct Rounded {
    Array array;
    Strides strides;
    std::int64_t offset;
    std::uint64_t version;
};

// operand(weight), which is kept beside its memory, if it is rounded, until the weight changes.
Array kept_operand(const Array& weight) {
    if (operand_type(weight.dtype) == weight.dtype || weight.storage->is_foreign()) return operand(weight);
    static std::mutex mutex;
    Storage& storage = *weight.storage;
    {
        const std::lock_guard lock(mutex);
        if (const auto kept = std::static_pointer_cast<const Rounded>(storage.beside);
            kept && kept->version == storage.version && kept->offset == weight.offset &&
            kept->array.shape == weight.shape && kept->strides == weight.strides)
            return kept->array;
    }
    const Rounded made{operand(weight), weight.strides, weight.offset, storage.version};
    const std::lock_guard lock(mutex);
    storage.beside = std::make_shared<const Rounded>(made);
    return made.array;
}

// y = x Wᵀ + b
std::optional<FusedResult> linear_at_once(const Inputs& in, const LinearOptions& o) {
    const Tensor &x = in[0], &weight = in[1], &bias = in[2];
    const Array y = make_array(o.shape, x.dtype()), w = kept_operand(weight.array());
    if (bias.defined()) copy(y, broadcast_view(bias.array(), o.shape));
    const Product product{as_rows(y, o.rows), operand(as_rows(x.array(), o.rows)), transposed_view(w, 0, 1),
                          bias.defined()};
    products({&product, 1});
    return FusedResult{Tensor(y)};
}

// dx = dy W,  dW = dyᵀ x,  db = Σ dy; the products are one region, which has more tasks
Grads linear_rule(const Saved& saved, const Tensor& dy, const LinearOptions& o) {
    const Tensor &x = saved[0], &weight = saved[1];
    const Array dy_rows = as_rows(dy.array(), o.rows), d = operand(dy_rows);
    Grads grads(3);
    std::vector<Product> parts;
    if (saved.needs_input_grad(0)) {
        grads[0] = empty(x.shape(), x.dtype());
        parts.push_back({as_rows(grads[0].array(), o.rows), d, kept_operand(weight.array())});
    }
    if (saved.needs_input_grad(1)) {
        grads[1] = empty(weight.shape(), x.dtype());
        parts.push_back({grads[1].array(), transposed_view(d, 0, 1), operand(as_rows(x.array(), o.rows))});
    }
    products(parts);
    if (saved.needs_input_grad(2)) grads[2] = weft::sum(Tensor(dy_rows), 0);
    return grads;
}

// Whether products take this weight as it is: a matrix of bfloat16, while they round to that.
bool is_operand(const Tensor& weight) {
    return weight.defined() && weight.packed() == nullptr && weight.dtype() == operand_type(float32);
}

// y = x W, or y + x W.
void multiply(const Array& y, const Array& x, const Array& w, bool adds) {
    const Product product{y, operand(x), w, adds};
    products({&product, 1});
}

std::optional<FusedResult> compact_linear_at_once(const Inputs& in, const CompactLinearOptions& o) {
    const Tensor y = empty(o.shape, float32), &bias = in[1], &weight = in[2];
    if (bias.defined()) copy(y.array(), broadcast_view(bias.array(), o.shape));
    const Array to = as_rows(y.array(), o.rows), from = as_rows(in[0].array(), o.rows);
    if (is_operand(weight))
        multiply(to, from, transposed_view(operand(weight.array()), 0, 1), bias.defined());
    else
        packed_linear(to, dense_operand(from), o.weight.matrix, bias.defined());
    return FusedResult{y};
}

Grads compact_linear_rule(const Saved& saved, const Tensor& dy, const CompactLinearOptions& o) {
    Grads grads(3);
    if (saved.needs_input_grad(0)) {
        grads[0] = empty(saved[0].shape(), float32);  // dx = dy W
        const Array to = as_rows(grads[0].array(), o.rows), from = as_rows(dy.array(), o.rows);
        if (is_operand(saved[2]))
            multiply(to, from, operand(saved[2].array()), false);
        else
            packed_linear_backward(to, dense_operand(from), o.weight.matrix);
    }
    if (saved.needs_input_grad(1)) grads[1] = sum_to(dy, saved[1].shape());
    return grads;
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<LinearOptions> linear_kernel{kernels::fast::linear_at_once, kernels::fast::linear_rule};
constinit const Kernel<CompactLinearOptions> compact_linear_kernel{kernels::fast::compact_linear_at_once,
                                                                   kernels::fast::compact_linear_rule};
}  // namespace weft
