
#include "core/masked_matmul.h"

namespace weft {

namespace {

// The values of y. If the plain product is finite, it is the result, because then everything in it was finite.
Tensor values(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs) {
    const NoGrad off;
    const Tensor y = matmul(a, b);
    if (all(isfinite(y))) return y;
    if (pairs == Pairs::in_y) return blocked.defined() ? masked_fill(y, blocked, 0) : y;
    const Tensor none = blocked.defined() ? blocked : zeros({}, boolean);
    const Shape& shape = (pairs == Pairs::in_a ? a : b).shape();
    kernels::masked_matmul(y.array(), a.array(), b.array(), broadcast_view(none.array(), shape), pairs);
    return y;
}

}  // namespace

Tensor masked_matmul(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs) {
    const Op op("matmul");
    const Tensor y = values(a, b, blocked, pairs);
    // y = a b:  da = dy bᵀ,  db = aᵀ dy
    return record(
        y, {a, b}, {a, b, blocked, y},
        [pairs](const Saved& saved, const Tensor& dy) {
            const Tensor &a = saved[0], &b = saved[1];
            Tensor blocked = saved[2];
            if (pairs != Pairs::in_b) {
                const Tensor no_gradient = rows_without_gradient(saved[3], dy, -1);
                if (no_gradient.defined()) blocked = blocked.defined() ? blocked || no_gradient : no_gradient;
            }
            const Tensor flipped = blocked.defined() ? blocked.transpose(-2, -1) : Tensor();
            // Which matrix of dy bᵀ and of aᵀ dy has the pairs that y = a b has in a, in b or in y.
            constexpr Pairs in_da[] = {Pairs::in_y, Pairs::in_b, Pairs::in_a};
            constexpr Pairs in_db[] = {Pairs::in_a, Pairs::in_y, Pairs::in_b};
            const auto i = static_cast<std::size_t>(pairs);
            Grads grads(2);
            if (saved.needs_input_grad(0))
                grads[0] =
                    masked_matmul(dy, b.transpose(-2, -1), pairs == Pairs::in_b ? flipped : blocked, in_da[i]);
            if (saved.needs_input_grad(1))
                grads[1] =
                    masked_matmul(a.transpose(-2, -1), dy, pairs == Pairs::in_a ? flipped : blocked, in_db[i]);
            return grads;
        },
        [pairs](const Saved& saved, const Grads& dx) {
            const auto product = [&](const Tensor& a, const Tensor& b) {
                return masked_matmul(a, b, saved[2], pairs);
            };
            return product_rule(product, saved, dx);
        });
}

}  // namespace weft
