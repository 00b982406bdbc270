#include "core/ops/masked_matmul.h"

#include "core/kernels/elementwise.h"

namespace weft {
namespace {

Tensor transposed(const Tensor& x) { return x.defined() ? x.transpose(-2, -1) : x; }

// The values of y. If the plain product is finite, it is the result, because then everything in it was finite.
Tensor values(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs) {
    const NoGrad off;
    const Tensor y = matmul(a, b);
    if (all(isfinite(y))) return y;
    if (pairs == Pairs::in_y) return blocked.defined() ? masked_fill(y, blocked, 0) : y;
    const auto gemm_layout = [](const Tensor& x) {
        return kernels::is_matrix(x.array()) ? x.array() : kernels::contiguous(x.array());
    };
    const Tensor none = blocked.defined() ? blocked : zeros({}, boolean);
    const Shape& shape = (pairs == Pairs::in_a ? a : b).shape();
    kernels::masked_matmul(y.array(), gemm_layout(a), gemm_layout(b), broadcast_view(none.array(), shape),
                           pairs);
    return y;
}

}  // namespace

Tensor masked_matmul(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs) {
    const Tensor y = values(a, b, blocked, pairs);
    // y = a b:  da = dy bᵀ,  db = aᵀ dy
    return record("matmul", y, {a, b}, {a, b, blocked, y}, [pairs](const Saved& saved, const Tensor& dy) {
        const Tensor &a = saved[0], &b = saved[1];
        Tensor blocked = saved[2];
        if (pairs != Pairs::in_b) {
            const Tensor no_gradient = rows_without_gradient(saved[3], dy, -1);
            if (no_gradient.defined()) blocked = blocked.defined() ? blocked || no_gradient : no_gradient;
        }
        const bool in_a = pairs == Pairs::in_a, in_b = pairs == Pairs::in_b;
        return Grads{
            saved.needs_input_grad(0) ? masked_matmul(dy, transposed(b), in_b ? transposed(blocked) : blocked,
                                                      in_a   ? Pairs::in_y
                                                      : in_b ? Pairs::in_b
                                                             : Pairs::in_a)
                                      : Tensor(),
            saved.needs_input_grad(1) ? masked_matmul(transposed(a), dy, in_a ? transposed(blocked) : blocked,
                                                      in_a   ? Pairs::in_a
                                                      : in_b ? Pairs::in_y
                                                             : Pairs::in_b)
                                      : Tensor()};
    });
}

}  // namespace weft
