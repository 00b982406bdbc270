#include "weft/ops/shapes.h"

#include <algorithm>
#include <cstdint>

#include "core/common.h"
#include "core/kernels.h"
#include "weft/ops/creation.h"

namespace weft {

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
    const Op op("stack", Op::of_others);
    if (tensors.empty()) throw ShapeError("stack: the list is empty; give at least one tensor");
    axis = normalize_axis(axis, tensors[0].rank() + 1);
    std::vector<Tensor> rows;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].shape() != tensors[0].shape())
            throw ShapeError("stack: tensor ", i, " of shape ", tensors[i].shape(),
                             " differs from tensor 0 of ", tensors[0].shape(),
                             "; all shapes must be equal (cat joins along an existing axis)");
        rows.push_back(tensors[i].unsqueeze(axis));
    }
    return cat(rows, axis);
}

Tensor vstack(const std::vector<Tensor>& tensors) {
    const Op op("vstack", Op::of_others);
    std::vector<Tensor> rows;
    for (const Tensor& x : tensors) rows.push_back(x.rank() < 2 ? x.reshape({1, x.numel()}) : x);
    return cat(rows, 0);
}

Tensor hstack(const std::vector<Tensor>& tensors) {
    const Op op("hstack", Op::of_others);
    std::vector<Tensor> parts;
    for (const Tensor& x : tensors) parts.push_back(x.rank() == 0 ? x.reshape({1}) : x);
    return cat(parts, parts.empty() || parts[0].rank() == 1 ? 0 : 1);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis) {
    axis = normalize_axis(axis, x.rank(), "split");
    std::int64_t left = x.size(axis);  // counted down, because a sum may overflow
    std::string list;
    for (std::int64_t size : sizes) {
        if (size < 0) throw ValueError("split: a part of size ", size, "; sizes are 0 or more");
        left = left < size ? -1 : left - size;
        list += (list.empty() ? "" : " + ") + std::to_string(size);
    }
    if (left != 0)
        throw ShapeError("split: ", list, " is not ", x.size(axis), ", the size of axis ", axis, " of ",
                         x.shape(), "; the sizes must add up to it");
    std::vector<Tensor> parts;
    std::int64_t from = 0;
    for (std::int64_t size : sizes) {
        parts.push_back(x.slice(axis, from, from + size));
        from += size;
    }
    return parts;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis) {
    axis = normalize_axis(axis, x.rank(), "split");
    if (size < 1)
        throw ValueError("split: parts of size ", size, "; use 1 or more (chunk takes the number of parts)");
    std::vector<std::int64_t> sizes;
    for (std::int64_t left = x.size(axis); left > 0; left -= size) sizes.push_back(std::min(size, left));
    if (sizes.empty()) sizes.push_back(0);
    return split(x, sizes, axis);
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t parts, int axis) {
    axis = normalize_axis(axis, x.rank(), "chunk");
    if (parts < 1) throw ValueError("chunk: ", parts, " parts; use 1 or more (split takes the size of a part)");
    const std::int64_t n = x.size(axis);
    if (n == 0) {  // PyTorch returns as many empty parts
        if (parts > INT32_MAX)
            throw ValueError("chunk: ", parts, " parts of an empty axis; use at most ", INT32_MAX);
        return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(parts), 0), axis);
    }
    return split(x, n / parts + (n % parts != 0), axis);
}

namespace {

Tensor triangle(const Tensor& x, std::int64_t diagonal, bool upper) {
    if (x.rank() < 2)
        throw ShapeError(Op::name(), ": a tensor of shape ", x.shape(), " is not a matrix; it needs two axes");
    const std::int64_t m = x.size(-2), n = x.size(-1);
    const Tensor offset = arange(n) - arange(m).unsqueeze(1);  // (m, n): j − i
    const Tensor limit = integer(diagonal);
    return masked_fill(x, upper ? offset < limit : offset > limit, 0);
}

}  // namespace

Tensor triu(const Tensor& x, std::int64_t diagonal) {
    const Op op("triu", Op::of_others);
    return triangle(x, diagonal, true);
}
Tensor tril(const Tensor& x, std::int64_t diagonal) {
    const Op op("tril", Op::of_others);
    return triangle(x, diagonal, false);
}

Tensor flip(const Tensor& x, int axis) {
    axis = normalize_axis(axis, x.rank(), "flip");
    const double last = static_cast<double>(x.size(axis) - 1);
    return index_select(x, axis, arange(last, -1, -1, int64));
}

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

namespace {

// y, in storage of its own: arguments that change nothing must not make the result a view of x.
Tensor copied(const Tensor& y, const Tensor& x) { return y.shares_storage(x) ? y.clone() : y; }

}  // namespace

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

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int> axis) {
    const Op op("repeat_interleave", Op::of_others);
    check_dtype("repeats", repeats, int64);
    const Tensor y = axis ? x : x.reshape({-1});
    const int a = normalize_axis(axis.value_or(0), y.rank());
    const std::int64_t n = y.size(a);
    if (repeats.shape() != Shape{n})
        throw ShapeError("repeat_interleave: repeats of shape ", repeats.shape(), " for ", n,
                         " elements; they must be (", n, ",)");
    const std::vector<std::int64_t> times = repeats.to_vector<std::int64_t>();
    std::int64_t total = 0;
    for (const std::int64_t size : times) {
        if (size < 0) throw ValueError("repeat_interleave: ", size, " times; use 0 or more");
        if (__builtin_add_overflow(total, size, &total)) total = INT64_MAX;
    }
    check_sizes({total}, int64, "repeat_interleave");
    std::vector<std::int64_t> index;
    for (std::size_t i = 0; i < times.size(); ++i)
        index.insert(index.end(), static_cast<std::size_t>(times[i]), static_cast<std::int64_t>(i));
    return index_select(y, a, from_vector(index));
}

Tensor repeat_interleave(const Tensor& x, std::int64_t repeats, std::optional<int> axis) {
    const std::int64_t n = axis ? x.size(normalize_axis(*axis, x.rank(), "repeat_interleave")) : x.numel();
    return repeat_interleave(x, integer(repeats).expand({n}), axis);
}

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& padding, double value) {
    const Op op("pad", Op::of_others);
    if (padding.size() % 2 != 0 || static_cast<int>(padding.size()) > 2 * x.rank())
        throw ShapeError("pad: ", padding.size(), " numbers for a tensor of shape ", x.shape(),
                         "; give two for each padded axis, the last axis first");
    Tensor y = x;
    for (std::size_t i = 0; i < padding.size(); i += 2)
        y = pad_axis(y, x.rank() - 1 - static_cast<int>(i / 2), padding[i], padding[i + 1], value);
    return copied(y, x);
}

Tensor roll(const Tensor& x, std::int64_t shift, int axis) {
    axis = normalize_axis(axis, x.rank(), "roll");
    const std::int64_t n = x.size(axis);
    if (n == 0) return x.clone();
    const std::int64_t cut = (n - shift % n) % n;  // the index of the new first element
    return cat({x.slice(axis, cut, n), x.slice(axis, 0, cut)}, axis);
}

// Diagonals of matrices.

namespace {

constexpr std::int64_t beyond = INT32_MAX;  // any diagonal

}  // namespace

Tensor diag(const Tensor& x, std::int64_t offset) {
    const Op op("diag", Op::of_others);
    if (x.rank() != 1 && x.rank() != 2)
        throw ShapeError("diag: a tensor of shape ", x.shape(), "; it must be (n,) or (m, n)");
    if (x.rank() == 2) return diagonal(x, offset);
    offset = std::clamp<std::int64_t>(offset, -beyond, beyond);
    const std::int64_t down = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
    const std::int64_t n = x.numel(), size = n + down + right;
    const Tensor columns = (arange(n) + integer(right)).unsqueeze(1);
    return pad(scatter_add({n, size}, 1, columns, x.unsqueeze(1)), {0, 0, down, right});
}

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis0, int axis1) {
    const Op op("diagonal", Op::of_others);
    axis0 = normalize_axis(axis0, x.rank());
    axis1 = normalize_axis(axis1, x.rank());
    if (axis0 == axis1) throw IndexError("diagonal: axis ", axis0, " is named twice; name two axes");
    Shape axes;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (axis != axis0 && axis != axis1) axes.push_back(axis);
    axes.push_back(axis0);
    axes.push_back(axis1);
    offset = std::clamp<std::int64_t>(offset, -beyond, beyond);
    const std::int64_t down = std::max<std::int64_t>(0, -offset), right = std::max<std::int64_t>(0, offset);
    const std::int64_t columns = x.size(axis1);
    const std::int64_t n = std::max<std::int64_t>(0, std::min(x.size(axis0) - down, columns - right));
    const Tensor positions = arange(n) * integer(columns + 1) + integer(n == 0 ? 0 : down * columns + right);
    return index_select(flatten(x.permute(axes), -2, -1), x.rank() - 2, positions);
}

Tensor trace(const Tensor& x) {
    if (x.rank() != 2)
        throw ShapeError("trace: a tensor of shape ", x.shape(), " is not a matrix; it needs two axes");
    return sum(diagonal(x));
}

}  // namespace weft
