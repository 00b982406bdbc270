// Tensors made from numbers, from other tensors' shapes, and from random draws.
#include "core/kernels/index.h"
#include "core/ops/common.h"
#include "weft/core/more.h"
#include "weft/core/text.h"

namespace weft {

Tensor full_like(const Tensor& x, double value) { return full(x.shape(), value, x.dtype()); }
Tensor randn_like(const Tensor& x, Rng& rng) { return randn(x.shape(), rng, x.dtype()); }
Tensor rand_like(const Tensor& x, Rng& rng) { return rand(x.shape(), rng, x.dtype()); }

Tensor linspace(double start, double end, std::int64_t steps, DType dtype) {
    if (steps < 0) throw ValueError("linspace: ", steps, " steps; use 0 or more");
    if (!is_floating_point(dtype))
        throw DTypeError("linspace: makes float32 or float64, not ", name(dtype), "; use arange for integers");
    // From the nearer end, so that both ends are exact.
    const double last = static_cast<double>(steps - 1), step = steps > 1 ? (end - start) / last : 0;
    const Tensor i = arange(steps).to(float64);
    return where(i <= last / 2, start + step * i, end - step * (last - i)).to(dtype);
}

Tensor one_hot(const Tensor& ids, std::int64_t num_classes) {
    check_dtype("one_hot", "the ids", ids, int64);
    if (num_classes == -1) num_classes = ids.numel() == 0 ? 0 : static_cast<std::int64_t>(max(ids).item()) + 1;
    if (num_classes < 0)
        throw ValueError("one_hot: ", num_classes, " classes; use 0 or more, or −1 for the largest id + 1");
    const Tensor dense = ids.contiguous();
    const std::int64_t wrong = kernels::first_outside(dense.array(), 0, num_classes);
    if (wrong >= 0)
        throw IndexError("one_hot: id ", dense.data<std::int64_t>()[wrong], " at position ",
                         text::index(wrong, ids.shape()), " is outside the ", num_classes, " classes (0 to ",
                         num_classes - 1, ")");
    return (ids.unsqueeze(-1) == arange(num_classes)).to(int64);
}

Tensor randperm(std::int64_t n, Rng& rng) {
    if (n < 0) throw ValueError("randperm: n is ", n, "; use 0 or more");
    const Tensor order = arange(n);
    auto* place = order.data<std::int64_t>();  // Fisher and Yates: each of the first i + 1 places is as likely
    for (std::int64_t i = 1; i < n; ++i) std::swap(place[i], place[rng.randint(0, i + 1)]);
    return order;
}

Tensor multinomial(const Tensor& weights, std::int64_t num_samples, Rng& rng, bool replacement) {
    check_floating("multinomial", weights);
    if (weights.rank() != 1 && weights.rank() != 2)
        throw ShapeError("multinomial: weights of shape ", weights.shape(), "; they must be (n,) or (rows, n)");
    if (num_samples < 1) throw ValueError("multinomial: ", num_samples, " samples; use 1 or more");
    const Tensor rows = weights.detach().to(float64).reshape({-1, weights.size(-1)});
    Shape shape = weights.shape();
    shape[-1] = num_samples;
    const Tensor drawn = empty(shape, int64);
    auto* next = drawn.data<std::int64_t>();
    Rng draws = rng;  // `rng` moves when every row has been drawn
    for (std::int64_t r = 0; r < rows.size(0); ++r) {
        std::vector<double> w = rows[r].to_vector<double>();
        const auto possible = std::count_if(w.begin(), w.end(), [](double p) { return p > 0; });
        if (!replacement && possible < num_samples)
            throw ValueError("multinomial: ", num_samples, " samples without replacement from ", possible,
                             " weights above 0; draw fewer, or with replacement");
        for (std::int64_t i = 0; i < num_samples; ++i) {
            *next = draws.categorical(w);
            if (!replacement) w[static_cast<std::size_t>(*next)] = 0;
            ++next;
        }
    }
    rng = draws;
    return drawn;
}

}  // namespace weft
