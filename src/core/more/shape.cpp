// Operations on shapes and indices that are composed of others.
#include <algorithm>
#include <cstdint>

#include "core/ops/common.h"
#include "weft/core/more.h"

namespace weft {
namespace {

constexpr std::int64_t max_border = INT32_MAX;

// Pads or, where the number is negative, cuts one axis.
Tensor pad_axis(const Tensor& x, int axis, std::int64_t before, std::int64_t after, double value) {
    const std::int64_t n = x.size(axis);
    for (const std::int64_t size : {before, after})
        if (size < -n || size > max_border)
            throw ValueError("pad: ", size, " at axis ", axis, " of ", x.shape(), "; use ", -n, " to ",
                             max_border);
    if (before + n + after < 0)
        throw ShapeError("pad: axis ", axis, " of ", x.shape(), " cannot be cut by ", -before, " and ", -after,
                         "; cut no more than it has");
    const std::int64_t from = std::max<std::int64_t>(0, -before);
    Tensor y = x.slice(axis, from, std::max(from, n - std::max<std::int64_t>(0, -after)));
    const auto border = [&](std::int64_t size) {
        Shape shape = x.shape();
        shape[axis] = size;
        return full(shape, value, x.dtype());
    };
    if (before > 0) y = cat({border(before), y}, axis);
    if (after > 0) y = cat({y, border(after)}, axis);
    return y;
}

}  // namespace

Tensor flatten(const Tensor& x, int first, int last) {
    const int axes = std::max(1, x.rank());  // a scalar is flattened as if it had one
    first = normalize_axis(first, axes, "flatten");
    last = normalize_axis(last, axes, "flatten");
    if (first > last)
        throw ValueError("flatten: the first axis, ", first, ", comes after the last, ", last,
                         "; exchange them");
    if (x.rank() == 0) return x.reshape({1});
    Shape shape;
    std::int64_t merged = 1;
    for (int axis = 0; axis < x.rank(); ++axis) {
        const bool within = axis >= first && axis <= last;
        merged *= within ? x.size(axis) : 1;
        if (!within) shape.push_back(x.size(axis));
        if (axis == last) shape.push_back(merged);
    }
    return x.reshape(shape);
}

Tensor movedim(const Tensor& x, int from, int to) {
    from = normalize_axis(from, x.rank(), "movedim");
    to = normalize_axis(to, x.rank(), "movedim");
    Shape axes;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (axis != from) axes.push_back(axis);
    axes.insert(to == x.rank() - 1 ? -1 : to, from);
    return x.permute(axes);
}

Tensor repeat(const Tensor& x, const Shape& times) {
    if (times.rank() < x.rank())
        throw ShapeError("repeat: ", times, " has fewer numbers than ", x.shape(),
                         " has axes; give one for each");
    for (std::int64_t n : times)
        if (n < 0) throw ValueError("repeat: ", n, " times; use 0 or more");
    Tensor y = x;
    while (y.rank() < times.rank()) y = y.unsqueeze(0);
    Shape shape = y.shape();
    for (int axis = 0; axis < y.rank(); ++axis) {
        if (times[axis] == 0) y = y.slice(axis, 0, 0);
        if (__builtin_mul_overflow(shape[axis], times[axis], &shape[axis])) shape[axis] = INT64_MAX;
    }
    if (shape.numel() == 0) return y.reshape(shape);
    for (int axis = 0; axis < y.rank(); ++axis)
        y = cat(std::vector<Tensor>(static_cast<std::size_t>(times[axis]), y), axis);
    return copied(y, x);
}

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& padding, double value) try {
    if (padding.size() % 2 != 0 || static_cast<int>(padding.size()) > 2 * x.rank())
        throw ShapeError("pad: ", padding.size(), " numbers for a tensor of shape ", x.shape(),
                         "; give two for each padded axis, the last axis first");
    Tensor y = x;
    for (std::size_t i = 0; i < padding.size(); i += 2)
        y = pad_axis(y, x.rank() - 1 - static_cast<int>(i / 2), padding[i], padding[i + 1], value);
    return copied(y, x);
} catch (const Error&) {
    rethrow_as("pad");
}

Tensor roll(const Tensor& x, std::int64_t shift, int axis) {
    axis = normalize_axis(axis, x.rank(), "roll");
    const std::int64_t n = x.size(axis);
    if (n == 0) return x.clone();
    const std::int64_t cut = (n - shift % n) % n;  // the index of the new first element
    return cat({x.slice(axis, cut, n), x.slice(axis, 0, cut)}, axis);
}

Tensor diag(const Tensor& x, std::int64_t offset) try {
    if (x.rank() != 1 && x.rank() != 2)
        throw ShapeError("diag: a tensor of shape ", x.shape(), "; it must be (n,) or (m, n)");
    offset = std::clamp<std::int64_t>(offset, -max_border, max_border);  // beyond any diagonal
    const std::int64_t down = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
    if (x.rank() == 1) {
        const std::int64_t n = x.numel(), size = n + down + right;
        const Tensor columns = (arange(n) + integer(right)).unsqueeze(1);
        return pad(scatter_add({n, size}, 1, columns, x.unsqueeze(1)), {0, 0, down, right});
    }
    const std::int64_t n = std::max<std::int64_t>(0, std::min(x.size(0) - down, x.size(1) - right));
    const Tensor columns = (arange(n) + integer(right)).unsqueeze(1);
    return gather(x.slice(0, down, down + n), 1, columns).squeeze(1);
} catch (const Error&) {
    rethrow_as("diag");
}

Tensor outer(const Tensor& a, const Tensor& b) try {
    if (a.rank() != 1 || b.rank() != 1)
        throw ShapeError("outer: tensors of shape ", a.shape(), " and ", b.shape(), "; both must be vectors");
    return a.unsqueeze(1) * b;
} catch (const Error&) {
    rethrow_as("outer");
}

Tensor dot(const Tensor& a, const Tensor& b) try {
    if (a.rank() != 1 || a.shape() != b.shape())
        throw ShapeError("dot: tensors of shape ", a.shape(), " and ", b.shape(),
                         "; both must be vectors of one length");
    return sum(a * b);
} catch (const Error&) {
    rethrow_as("dot");
}

Tensor nonzero(const Tensor& x) {
    const std::vector<bool> is_set = (x.dtype() == boolean ? x : x != 0).to_vector<bool>();
    std::vector<std::int64_t> indices;
    for (std::size_t i = 0; i < is_set.size(); ++i) {
        if (!is_set[i]) continue;
        auto rest = static_cast<std::int64_t>(i);
        for (int axis = x.rank(); axis-- > 0; rest /= x.size(axis)) indices.push_back(rest % x.size(axis));
        std::reverse(indices.end() - x.rank(), indices.end());
    }
    const std::int64_t n = std::count(is_set.begin(), is_set.end(), true);
    return from_vector(indices, {n, x.rank()});
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
    check_dtype("masked_select", "the mask", mask, boolean);
    const Shape shape = broadcast_shapes(x.shape(), mask.shape(), "masked_select");
    const Tensor positions = nonzero(broadcast_to(mask, shape).reshape({-1})).squeeze(1);
    return index_select(broadcast_to(x, shape).reshape({-1}), 0, positions);
}

}  // namespace weft
