#include "core/ops/masked_matmul.h"

#include "core/kernels/elementwise.h"

namespace weft {
namespace {

Tensor transposed(const Tensor& x) { return x.defined() ? x.transpose(-2, -1) : x; }

// The values of the product. That of all pairs serves where it is finite: then nothing that it met was not.
Tensor values(const Tensor& a, const Tensor& b, const Tensor& unseen, Pairs pairs) {
    const NoGrad off;
    const Tensor y = matmul(a, b);
    if (all(isfinite(y))) return y;
    if (pairs == Pairs::in_y) return unseen.defined() ? masked_fill(y, unseen, 0) : y;
    const auto readable = [](const Tensor& x) {
        return kernels::is_matrix(x.array()) ? x.array() : kernels::contiguous(x.array());
    };
    const Tensor none = unseen.defined() ? unseen : zeros({}, boolean);
    const Shape& shape = (pairs == Pairs::in_a ? a : b).shape();
    kernels::matmul_of_seen(y.array(), readable(a), readable(b), broadcast_view(none.array(), shape), pairs);
    return y;
}

}  // namespace

Tensor matmul_of_seen(const Tensor& a, const Tensor& b, const Tensor& unseen, Pairs pairs) {
    const Tensor y = values(a, b, unseen, pairs);
    // y = a b:  da = dy bᵀ,  db = aᵀ dy
    return record("matmul", y, {a, b}, {a, b, unseen, y}, [pairs](const Saved& saved, const Tensor& dy) {
        const Tensor &a = saved[0], &b = saved[1];
        Tensor unseen = saved[2];
        if (pairs != Pairs::in_b) {
            const Tensor idle = rows_without_gradient(saved[3], dy, -1);
            if (idle.defined()) unseen = unseen.defined() ? unseen || idle : idle;
        }
        const bool in_a = pairs == Pairs::in_a, in_b = pairs == Pairs::in_b;
        return Grads{saved.needs(0) ? matmul_of_seen(dy, transposed(b), in_b ? transposed(unseen) : unseen,
                                                     in_a   ? Pairs::in_y
                                                     : in_b ? Pairs::in_b
                                                            : Pairs::in_a)
                                    : Tensor(),
                     saved.needs(1) ? matmul_of_seen(transposed(a), dy, in_a ? transposed(unseen) : unseen,
                                                     in_a   ? Pairs::in_a
                                                     : in_b ? Pairs::in_y
                                                            : Pairs::in_b)
                                    : Tensor()};
    });
}

}  // namespace weft
