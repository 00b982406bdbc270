#include "core/kernels/elementwise.h"
#include "core/ops/common.h"

namespace weft {

Tensor cat(const std::vector<Tensor>& tensors, int axis) {
    if (tensors.empty()) throw ShapeError("cat: the list is empty; give at least one tensor");
    const Tensor& first = tensors[0];
    axis = normalize_axis(axis, first.rank(), "cat");
    Shape shape = first.shape();
    shape[axis] = 0;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        check_same_dtype("cat", first, tensors[i]);
        bool fits = tensors[i].rank() == first.rank();
        for (int a = 0; a < first.rank() && fits; ++a) fits = a == axis || tensors[i].size(a) == first.size(a);
        if (!fits)
            throw ShapeError("cat: tensor ", i, " of shape ", tensors[i].shape(), " does not fit tensor 0 of ",
                             first.shape(), " along axis ", axis, "; all other sizes must be equal");
        sizes.push_back(tensors[i].size(axis));
        if (__builtin_add_overflow(shape[axis], sizes.back(), &shape[axis]))
            throw ValueError("cat: the sizes along axis ", axis,
                             " add up to more than 63 bits; join fewer tensors");
    }
    Array y = make_array(shape, first.dtype());
    std::int64_t from = 0;
    for (const Tensor& x : tensors) {
        kernels::copy(view_of(y, x.shape(), y.strides, from * y.strides[axis]), x.array());
        from += x.size(axis);
    }
    // y = [x₀, x₁, …]:  dx_i = dy's slice
    return record("cat", Tensor(std::move(y)), tensors, {},
                  [sizes, axis](const Saved&, const Tensor& dy) { return Grads(split(dy, sizes, axis)); });
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) try {
    if (tensors.empty()) throw ShapeError("stack: the list is empty; give at least one tensor");
    axis = normalize_axis(axis, tensors[0].rank() + 1, "stack");
    std::vector<Tensor> rows;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].shape() != tensors[0].shape())
            throw ShapeError("stack: tensor ", i, " of shape ", tensors[i].shape(),
                             " differs from tensor 0 of ", tensors[0].shape(),
                             "; all shapes must be equal (cat joins along an existing axis)");
        rows.push_back(tensors[i].unsqueeze(axis));
    }
    return cat(rows, axis);
} catch (const Error&) {
    rethrow_as("stack");
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

Tensor triangle(const char* operation, const Tensor& x, std::int64_t diagonal, bool upper) {
    if (x.rank() < 2)
        throw ShapeError(operation, ": a tensor of shape ", x.shape(), " is not a matrix; it needs two axes");
    const std::int64_t m = x.size(-2), n = x.size(-1);
    const Tensor offset = arange(n) - arange(m).unsqueeze(1);  // (m, n): j − i
    const Tensor limit = integer(diagonal);
    return masked_fill(x, upper ? offset < limit : offset > limit, 0);
}

}  // namespace

Tensor triu(const Tensor& x, std::int64_t diagonal) { return triangle("triu", x, diagonal, true); }
Tensor tril(const Tensor& x, std::int64_t diagonal) { return triangle("tril", x, diagonal, false); }

}  // namespace weft
