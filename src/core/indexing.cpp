#include "weft/core/indexing.h"

#include "core/common.h"
#include "core/kernels.h"

namespace weft {

namespace {

// The transpose of index_select: zeros of `shape` with x's slices added at the indices.
Tensor index_add(const Shape& shape, int axis, const Tensor& indices, const Tensor& x) {
    const Op op("index_add");
    const Tensor y = zeros(shape, x.dtype());
    kernels::index_add(y.array(), axis, indices.array(), kernels::contiguous(x.array()));
    return record(y, {x}, {indices}, [axis](const Saved& saved, const Tensor& dy) {
        return Grads{index_select(dy, axis, saved[0])};
    });
}

}  // namespace

void check_fits(const Shape& index, const Shape& x, int axis) {
    bool fits = index.rank() == x.rank();
    for (int a = 0; a < x.rank() && fits; ++a) fits = a == axis || index[a] <= x[a];
    if (!fits)
        throw ShapeError(Op::name(), ": an index of shape ", index, " does not fit ", x, " along axis ", axis,
                         "; it needs the same rank, and sizes no larger on the other axes");
}

Tensor normalized(const Tensor& indices, std::int64_t n) {
    check_dtype("the indices", indices, int64);
    const Array dense = kernels::contiguous(indices.array());
    const std::int64_t wrong = kernels::first_outside(dense, -n, n);
    if (wrong >= 0)
        throw IndexError(Op::name(), ": index ", element_of(dense, wrong), " at position ",
                         format_index(wrong, indices.shape()), " is out of range for size ", n,
                         valid_indices(n));
    if (kernels::first_outside(dense, 0, n) < 0) return Tensor(dense);
    return where(indices < 0, indices + integer(n), indices);
}

Tensor index_select(const Tensor& x, int axis, const Tensor& indices) {
    const Op op("index_select");
    axis = normalize_axis(axis, x.rank());
    if (indices.rank() != 1)
        throw ShapeError("index_select: indices of shape ", indices.shape(), "; they must be (n,)");
    const Tensor index = normalized(indices, x.size(axis));
    Shape shape = x.shape();
    shape[axis] = index.numel();
    Array y = make_array(shape, x.dtype());
    kernels::index_select(y, kernels::contiguous(x.array()), axis, index.array());
    return record(Tensor(std::move(y)), {x}, {index},
                  [shape = x.shape(), axis](const Saved& saved, const Tensor& dy) {
                      return Grads{index_add(shape, axis, saved[0], dy)};
                  });
}

Tensor gather(const Tensor& x, int axis, const Tensor& indices) {
    const Op op("gather");
    axis = normalize_axis(axis, x.rank());
    check_fits(indices.shape(), x.shape(), axis);
    const Tensor index = normalized(indices, x.size(axis));
    Array y = make_array(index.shape(), x.dtype());
    kernels::gather(y, kernels::contiguous(x.array()), axis, index.array());
    return record(Tensor(std::move(y)), {x}, {index},
                  [shape = x.shape(), axis](const Saved& saved, const Tensor& dy) {
                      return Grads{scatter_add(shape, axis, saved[0], dy)};
                  });
}

Tensor scatter_add(const Shape& shape, int axis, const Tensor& indices, const Tensor& source) {
    const Op op("scatter_add");
    axis = normalize_axis(axis, shape.rank());
    if (source.dtype() == boolean) throw DTypeError("scatter_add: bool does not add; convert it with to()");
    check_computes(source.dtype());
    check_fits(indices.shape(), shape, axis);
    if (indices.shape() != source.shape())
        throw ShapeError("scatter_add: an index of shape ", indices.shape(), " for a source of ",
                         source.shape(), "; they must be equal");
    const Tensor index = normalized(indices, shape[axis]);
    Array y = kernels::filled(shape, 0, source.dtype(), "scatter_add");
    kernels::scatter_add(y, axis, index.array(), kernels::contiguous(source.array()));
    return record(Tensor(std::move(y)), {source}, {index},
                  [axis](const Saved& saved, const Tensor& dy) { return Grads{gather(dy, axis, saved[0])}; });
}

Tensor cat(const std::vector<Tensor>& tensors, int axis) {
    const Op op("cat");
    if (tensors.empty()) throw ShapeError("cat: the list is empty; give at least one tensor");
    const Tensor& first = tensors[0];
    axis = normalize_axis(axis, first.rank());
    Shape shape = first.shape();
    shape[axis] = 0;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        check_same_dtype(first, tensors[i]);
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
    return record(Tensor(std::move(y)), tensors, {}, [sizes, axis](const Saved&, const Tensor& dy) {
        Grads parts;
        std::int64_t from = 0;
        for (const std::int64_t size : sizes) {
            parts.push_back(dy.slice(axis, from, from + size));
            from += size;
        }
        return parts;
    });
}

Tensor rows_at(const Tensor& weight, const Tensor& ids) {
    const Array w = kernels::contiguous(weight.array()),
                rows = make_array({ids.numel(), weight.size(1)}, float32);
    kernels::widen_rows(rows, kernels::compact(w), ids.array());
    return Tensor(rows);
}

Tensor embedding(const Tensor& table, const Tensor& ids) {
    const Op op("embedding", Op::of_others);
    if (table.rank() != 2)
        throw ShapeError("embedding: a table of shape ", table.shape(), "; it must be (vocabulary, width)");
    check_dtype("the ids", ids, int64);
    const std::int64_t V = table.size(0);
    const Array dense = kernels::contiguous(ids.array());
    const std::int64_t wrong = kernels::first_outside(dense, 0, V);
    if (wrong >= 0)
        throw IndexError("embedding: token id ", element_of(dense, wrong), " at position ",
                         format_index(wrong, ids.shape()), " is outside the vocabulary of ", V, " (0 to ",
                         V - 1, ")");
    Shape shape = ids.shape();
    shape.push_back(table.size(1));
    const Tensor rows = Tensor(dense).reshape({-1});
    if (only_stores(table.dtype())) return rows_at(table, rows).reshape(shape);
    return index_select(table, 0, rows).reshape(shape);
}

}  // namespace weft
