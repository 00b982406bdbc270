// linear: one product, with the bias as what it adds to, and both products of backward as one region.
#include <mutex>

#include "core/common.h"
#include "core/slots.h"
#include "fast/gemm.h"

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

// Whether products take this weight: not one that stores, unless they round to its type.
bool is_factor(const Array& weight) {
    return computed_in(weight.dtype) == weight.dtype || weight.dtype == operand_type(float32);
}

// y = x Wᵀ + b
std::optional<FusedResult> linear_at_once(const Inputs& in, const LinearOptions& o) {
    const Array &x = in[0].array(), &weight = in[1].array(), y = make_array(o.shape, x.dtype);
    const Tensor& bias = in[2];
    if (bias.defined()) copy(y, broadcast_view(bias.array(), o.shape));
    const Array to = as_rows(y, o.rows), from = as_rows(x, o.rows);
    if (is_factor(weight)) {
        const Product product{to, operand(from), transposed_view(kept_operand(weight), 0, 1), bias.defined()};
        products({&product, 1});
    } else {
        packed_linear(to, dense_operand(from), compact(contiguous(weight)), bias.defined());
    }
    return FusedResult{Tensor(y)};
}

// dx = dy W,  dW = dyᵀ x,  db = Σ dy; the products are one region, which has more tasks
Grads linear_rule(const Saved& saved, const Tensor& dy, const LinearOptions& o) {
    const Tensor &x = saved[0], &weight = saved[1];
    const Array dy_rows = as_rows(dy.array(), o.rows);
    Grads grads(3);
    if (saved.needs_input_grad(0)) grads[0] = empty(x.shape(), x.dtype());
    if (is_factor(weight.array())) {
        const Array d = operand(dy_rows);
        std::vector<Product> parts;
        if (grads[0].defined())
            parts.push_back({as_rows(grads[0].array(), o.rows), d, kept_operand(weight.array())});
        if (saved.needs_input_grad(1)) {
            grads[1] = empty(weight.shape(), x.dtype());
            parts.push_back({grads[1].array(), transposed_view(d, 0, 1), operand(as_rows(x.array(), o.rows))});
        }
        products(parts);
    } else if (grads[0].defined()) {
        packed_linear_backward(as_rows(grads[0].array(), o.rows), dense_operand(dy_rows),
                               compact(contiguous(weight.array())));
    }
    if (saved.needs_input_grad(2)) grads[2] = weft::sum(Tensor(dy_rows), 0);
    return grads;
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<LinearOptions> linear_kernel{kernels::fast::linear_at_once, kernels::fast::linear_rule};
}  // namespace weft
