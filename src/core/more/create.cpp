// Tensors made from numbers, from other tensors' shapes, and from random draws.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "core/kernels/index.h"
#include "core/ops/common.h"
#include "weft/core/more.h"
#include "weft/core/text.h"

namespace weft {

Tensor full_like(const Tensor& x, double value) try {
    return full(x.shape(), value, x.dtype());
} catch (const Error&) {
    rethrow_as("full_like");
}
Tensor randn_like(const Tensor& x, Rng& rng) try {
    return randn(x.shape(), rng, x.dtype());
} catch (const Error&) {
    rethrow_as("randn_like");
}
Tensor rand_like(const Tensor& x, Rng& rng) try {
    return rand(x.shape(), rng, x.dtype());
} catch (const Error&) {
    rethrow_as("rand_like");
}

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
    if (num_classes == -1) num_classes = ids.numel() == 0 ? 0 : *(max(ids) + 1).data<std::int64_t>();  // wraps
    if (num_classes < 0)
        throw ValueError("one_hot: ", num_classes, " classes; use 0 or more, or -1 for the largest id + 1");
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

namespace {

// The sums of weights in a binary tree, so that a draw and a removal take log₂ n steps. A sum is always that of
// its two parts, never what a subtraction left, which would keep no digit of small weights beside a large one.
class WeightTree {
public:
    explicit WeightTree(std::span<const double> weights)
        : leaves_(std::bit_ceil(weights.size())), sums_(2 * leaves_) {
        std::ranges::copy(weights, leaf(0));
        add_up();
        if (!std::isinf(sums_[1])) return;
        std::for_each(leaf(0), sums_.end(), [](double& w) { w *= 0x1p-64; });  // their proportions are the same
        add_up();
    }
    // The i with w_0 + … + w_(i − 1) ≤ u · Σw < w_0 + … + w_i.
    std::int64_t find(double u) const {
        double rest = u * sums_[1];
        std::size_t i = 1;
        while (i < leaves_) {
            i *= 2;
            if (rest < sums_[i] || sums_[i + 1] == 0) continue;  // rounding never leads to a weight of 0
            rest -= sums_[i++];
        }
        return static_cast<std::int64_t>(i - leaves_);
    }
    void remove(std::int64_t index) {
        *leaf(index) = 0;
        for (auto i = (leaves_ + static_cast<std::size_t>(index)) / 2; i > 0; i /= 2) add(i);
    }

private:
    std::size_t leaves_;
    std::vector<double> sums_;  // at i the sum of those at 2i and 2i + 1; from leaves_ on the weights

    std::vector<double>::iterator leaf(std::int64_t i) {
        return sums_.begin() + static_cast<std::ptrdiff_t>(leaves_) + i;
    }
    void add(std::size_t i) { sums_[i] = sums_[2 * i] + sums_[2 * i + 1]; }
    void add_up() {
        for (std::size_t i = leaves_; --i > 0;) add(i);
    }
};

}  // namespace

Tensor multinomial(const Tensor& weights, std::int64_t num_samples, Rng& rng, bool replacement) {
    check_floating("multinomial", weights);
    if (weights.rank() != 1 && weights.rank() != 2)
        throw ShapeError("multinomial: weights of shape ", weights.shape(), "; they must be (n,) or (rows, n)");
    if (num_samples < 1) throw ValueError("multinomial: ", num_samples, " samples; use 1 or more");
    const std::vector<double> w = weights.detach().to(float64).to_vector<double>();
    const auto n = static_cast<std::size_t>(weights.size(-1));
    std::vector<std::span<const double>> rows(weights.rank() == 1 ? 1
                                                                  : static_cast<std::size_t>(weights.size(0)));
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = std::span(w).subspan(r * n, n);
    for (const auto& row : rows) {  // before anything is drawn
        std::int64_t possible = 0;
        for (const double p : row) {
            if (!(p >= 0) || std::isinf(p))
                throw ValueError("multinomial: a weight is ", p, "; use finite weights of 0 or more");
            possible += p > 0;
        }
        if (replacement && possible == 0)
            throw ValueError("multinomial: no weight of a row is above 0; give at least one that is");
        if (!replacement && possible < num_samples)
            throw ValueError("multinomial: ", num_samples, " samples without replacement from ", possible,
                             " weights above 0; draw fewer, or with replacement");
    }
    Shape shape = weights.shape();
    shape[-1] = num_samples;
    const Tensor drawn = empty(shape, int64);
    auto* next = drawn.data<std::int64_t>();
    for (const auto& row : rows) {
        WeightTree tree(row);
        for (std::int64_t i = 0; i < num_samples; ++i, ++next) {
            *next = tree.find(rng.uniform());
            if (!replacement) tree.remove(*next);
        }
    }
    return drawn;
}

}  // namespace weft
