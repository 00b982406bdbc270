#include "weft/ops/creation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "core/common.h"
#include "core/kernels.h"

namespace weft {

namespace {

// Appends the numbers of nested braces to `out`. Returns their shape; ShapeError if they are ragged.
Shape flatten(const Nested& values, std::vector<const Nested*>& out) {
    Shape shape;
    if (!values.is_list) {
        out.push_back(&values);
        return shape;
    }
    for (std::size_t i = 0; i < values.items.size(); ++i) {
        const Shape row = flatten(values.items[i], out);
        if (i > 0 && row != shape)
            throw ShapeError("tensor: ragged rows: row 0 has shape ", shape, ", row ", i, " has ", row,
                             "; all rows must have the same shape");
        shape = row;
    }
    shape.insert(0, static_cast<std::int64_t>(values.items.size()));
    return shape;
}

}  // namespace

Nested::Nested(std::initializer_list<Nested> list) : items(list), is_list(true) {
    for (std::size_t i = 0; i < items.size(); ++i)
        if (i == 0 || items[i].dtype == float32 || dtype == boolean) dtype = items[i].dtype;
}

std::int64_t Nested::to_int64() const {
    if (dtype != float32 && value == static_cast<double>(integer)) return integer;
    check_representable("tensor", value, int64);
    return static_cast<std::int64_t>(value);
}

Tensor tensor(const Nested& values, std::optional<DType> wanted) {
    const DType dtype = wanted.value_or(values.dtype);
    std::vector<const Nested*> flat;
    const Shape shape = flatten(values, flat);
    std::vector<std::int64_t> integers;
    std::vector<double> numbers;
    for (const Nested* number : flat) {
        if (dtype == int64) {
            integers.push_back(number->to_int64());
        } else {
            if (number->dtype == float32 || dtype == boolean)
                check_representable("tensor", number->value, dtype);
            numbers.push_back(number->value);
        }
    }
    return dtype == int64 ? from_vector(integers, shape) : from_vector(numbers, shape).to(dtype);
}

Tensor eye(std::int64_t n, DType dtype) { return eye(n, n, dtype); }
Tensor eye(std::int64_t n, std::int64_t m, DType dtype) {
    const Array x = kernels::filled({n, m}, 0, dtype, "eye");
    kernels::fill(view_of(x, {std::min(n, m)}, {m + 1}, 0), 1);
    return Tensor(x);
}

Tensor full_like(const Tensor& x, double value) {
    const Op op("full_like", Op::of_others);
    return full(x.shape(), value, x.dtype());
}

Tensor linspace(double start, double end, std::int64_t steps, DType dtype) {
    if (steps < 0) throw ValueError("linspace: ", steps, " steps; use 0 or more");
    if (!takes_gradient(dtype))
        throw DTypeError("linspace: makes float32 or float64, not ", name(dtype),
                         "; use arange for integers, or convert the result with to()");
    // From the nearer end, so that both ends are exact; by half steps, because end − start may overflow.
    const double last = static_cast<double>(steps - 1), half = steps > 1 ? (end / 2 - start / 2) / last : 0;
    const Tensor i = arange(steps).to(float64);
    return where(i <= last / 2, start + half * (2 * i), end - half * (2 * (last - i))).to(dtype);
}

Tensor from_blob(void* data, const Shape& shape, const Strides& strides, std::function<void(void*)> deleter,
                 DType dtype) {
    if (strides.rank() != shape.rank())
        throw ShapeError("from_blob: strides ", strides, " for shape ", shape, "; give one for each axis");
    check_sizes(shape, dtype, "from_blob");
    Array x{nullptr, shape, contiguous_strides(shape), 0, dtype};
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride and size of the axes that take steps
    for (int axis = 0; axis < shape.rank() && shape.numel() > 0; ++axis)
        if (shape[axis] > 1) steps.emplace_back(x.strides[axis] = strides[axis], shape[axis]);
    std::sort(steps.begin(), steps.end());
    std::int64_t last = 0, end = 0;  // the largest distance from the first element so far; in bytes
    for (const auto& [stride, size] : steps) {
        if (stride < 0 || (stride > 0 && stride <= last))
            throw ValueError("from_blob: strides ", strides, " of shape ", shape,
                             (stride < 0 ? " run backwards" : " put two elements at one address"),
                             "; copy the values into an array of their own");
        if (__builtin_mul_overflow(stride, size - 1, &end) || __builtin_add_overflow(last, end, &last) ||
            __builtin_mul_overflow(last + 1, static_cast<std::int64_t>(itemsize(dtype)), &end))
            throw ValueError("from_blob: strides ", strides, " of shape ", shape,
                             " reach further than 63 bits count; use those of the memory, in elements");
    }
    static std::int64_t nothing = 0;  // the address of no elements
    if (data == nullptr && shape.numel() == 0) data = &nothing;
    if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % itemsize(dtype) != 0)
        throw ValueError("from_blob: an address of ", reinterpret_cast<std::uintptr_t>(data), " for shape ",
                         shape, " of ", name(dtype), "; give one that is not null, and a multiple of ",
                         itemsize(dtype));
    x.storage = std::make_shared<Storage>(data);
    Storage& storage = *x.storage;
    Tensor tensor(std::move(x));
    storage.deleter = std::move(deleter);  // last, because a call that throws leaves the memory to its owner
    return tensor;
}

Tensor from_blob(void* data, const Shape& shape, DType dtype) {
    return from_blob(data, shape, contiguous_strides(shape), {}, dtype);
}

namespace {

// The values of randn and rand; zeros while the generator skips initialisation.
Tensor draw(const Shape& shape, Rng& rng, DType dtype,
            void (*fill)(const Array& out, std::uint64_t seed, std::uint64_t first)) {
    if (!takes_gradient(dtype))
        throw DTypeError(Op::name(), ": draws float32 or float64, not ", name(dtype),
                         "; use randint for integers, or convert the result with to()");
    Array x = make_array(shape, dtype, Op::name());
    const std::uint64_t first = rng.reserve(static_cast<std::uint64_t>(x.numel()));
    if (rng.skips_init())
        kernels::fill(x, 0);
    else
        fill(x, rng.seed(), first);
    return Tensor(std::move(x));
}

}  // namespace

Tensor randn(const Shape& shape, Rng& rng, DType dtype) {
    const Op op("randn", Op::of_others);
    return draw(shape, rng, dtype, kernels::fill_normal);
}

Tensor rand(const Shape& shape, Rng& rng, DType dtype) {
    const Op op("rand", Op::of_others);
    return draw(shape, rng, dtype, kernels::fill_uniform);
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Rng& rng) {
    if (low >= high)
        throw ValueError("randint: the range [", low, ", ", high, ") is empty; low must be below high");
    Array x = make_array(shape, int64, "randint");
    kernels::fill_randint(x, rng.seed(), rng.reserve(static_cast<std::uint64_t>(x.numel())), low, high);
    return Tensor(std::move(x));
}

Tensor dropout_mask(const Shape& shape, DType dtype, const kernels::Dropout& dropout) {
    const Op draws("draws of dropout");
    const Array mask = make_array(shape, dtype);
    kernels::fill_dropout(mask, dropout);
    return Tensor(mask);
}

Tensor dropout(const Tensor& x, double p, bool training) { return dropout(x, p, default_rng(), training); }

Tensor dropout(const Tensor& x, double p, Rng& rng, bool training) {
    const Op op("dropout", Op::of_others);
    check_floating(x);
    if (!(p >= 0 && p < 1)) throw ValueError("dropout: p is ", p, "; use 0 ≤ p < 1");
    if (!training || p == 0) return unchanged(x);
    const std::uint64_t first = rng.reserve(kernels::dropout_positions(x.numel()));
    return x * dropout_mask(x.shape(), x.dtype(), {p, rng.seed(), first});
}
Tensor randn_like(const Tensor& x, Rng& rng) {
    const Op op("randn_like", Op::of_others);
    return randn(x.shape(), rng, x.dtype());
}
Tensor rand_like(const Tensor& x, Rng& rng) {
    const Op op("rand_like", Op::of_others);
    return rand(x.shape(), rng, x.dtype());
}

Tensor randperm(std::int64_t n, Rng& rng) {
    if (n < 0) throw ValueError("randperm: n is ", n, "; use 0 or more");
    auto place = arange(n).to_vector<std::int64_t>();
    // Fisher and Yates: each of the first i + 1 places is as likely
    for (std::size_t i = 1; i < place.size(); ++i)
        std::swap(place[i], place[static_cast<std::size_t>(rng.randint(0, static_cast<std::int64_t>(i) + 1))]);
    return from_vector(place, {n});
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
    const Op op("multinomial", Op::of_others);
    check_floating(weights);
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
    std::vector<std::int64_t> drawn;
    for (const auto& row : rows) {
        WeightTree tree(row);
        for (std::int64_t i = 0; i < num_samples; ++i) {
            drawn.push_back(tree.find(rng.uniform()));
            if (!replacement) tree.remove(drawn.back());
        }
    }
    return from_vector(drawn, shape);
}

}  // namespace weft
