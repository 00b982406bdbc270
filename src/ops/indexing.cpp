#include "weft/ops/indexing.h"

#include <numeric>

#include "core/common.h"
#include "weft/core/indexing.h"
#include "weft/ops/creation.h"

namespace weft {

Tensor scatter(const Tensor& x, int axis, const Tensor& indices, const Tensor& source) {
    const Op op("scatter", Op::of_others);
    // Each element of y is one of x or of source: the numbers of their positions are scattered first.
    axis = normalize_axis(axis, x.rank());
    check_fits(indices.shape(), x.shape(), axis);
    if (indices.shape() != source.shape())
        throw ShapeError("scatter: an index of shape ", indices.shape(), " for a source of ", source.shape(),
                         "; they must be equal");
    const Tensor index = normalized(indices, x.size(axis));
    const std::int64_t n = x.numel();
    std::vector<std::int64_t> from = arange(n).to_vector<std::int64_t>();
    std::int64_t number = n;
    for (const std::int64_t at : gather(arange(n).reshape(x.shape()), axis, index).to_vector<std::int64_t>())
        from[static_cast<std::size_t>(at)] = number++;
    return index_select(cat({x.reshape({-1}), source.reshape({-1})}), 0, from_vector(from)).reshape(x.shape());
}

Tensor scatter(const Tensor& x, int axis, const Tensor& index, double value) {
    const Op op("scatter", Op::of_others);
    return scatter(x, axis, index, full(index.shape(), value, x.dtype()));
}

Tensor one_hot(const Tensor& ids, std::int64_t num_classes) {
    const Op op("one_hot", Op::of_others);
    check_dtype("the ids", ids, int64);
    if (num_classes == -1)
        num_classes = ids.numel() == 0 ? 0 : (max(ids) + 1).to_vector<std::int64_t>()[0];  // wraps
    if (num_classes < 0)
        throw ValueError("one_hot: ", num_classes, " classes; use 0 or more, or -1 for the largest id + 1");
    const Tensor dense = ids.contiguous();
    const std::int64_t wrong = kernels::first_outside(dense.array(), 0, num_classes);
    if (wrong >= 0)
        throw IndexError("one_hot: id ", element_of(dense.array(), wrong), " at position ",
                         format_index(wrong, ids.shape()), " is outside the ", num_classes, " classes (0 to ",
                         num_classes - 1, ")");
    return (ids.unsqueeze(-1) == arange(num_classes)).to(int64);
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
    const Op op("masked_select", Op::of_others);
    check_dtype("the mask", mask, boolean);
    const Shape shape = broadcast_shapes(x.shape(), mask.shape());
    const Tensor positions = nonzero(broadcast_to(mask, shape).reshape({-1})).squeeze(1);
    return index_select(broadcast_to(x, shape).reshape({-1}), 0, positions);
}

namespace {

// The order of n elements, `stride` apart. NaN counts as the largest, as in max. Equal elements keep their
// order.
template <class T>
void order_row(std::int64_t* order, const T* x, std::int64_t n, bool descending) {
    std::iota(order, order + n, 0);
    const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
    std::stable_sort(order, order + n, [&](std::int64_t i, std::int64_t j) {
        return descending ? less(x[j], x[i]) : less(x[i], x[j]);
    });
}

}  // namespace

Tensor argsort(const Tensor& x, int axis, bool descending) {
    const Op op("argsort", Op::of_others);
    check_arithmetic(x);
    check_computes(x.dtype());
    axis = normalize_axis(axis, x.rank());
    const Tensor rows = x.detach().transpose(axis, -1).contiguous();
    const std::int64_t n = rows.size(-1);
    Tensor order = empty(rows.shape(), int64);
    for (std::int64_t first = 0; first < rows.numel(); first += n)
        visit_numeric(x.dtype(), [&]<class T>(T) {
            order_row(order.data<std::int64_t>() + first, rows.data<T>() + first, n, descending);
        });
    return order.transpose(axis, -1);
}

ValuesIndices sort(const Tensor& x, int axis, bool descending) {
    const Op op("sort", Op::of_others);
    const Tensor order = argsort(x, axis, descending);
    return {gather(x, axis, order), order};
}

ValuesIndices topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
    const Op op("topk", Op::of_others);
    axis = normalize_axis(axis, x.rank());
    if (k < 0 || k > x.size(axis))
        throw ValueError("topk: k is ", k, ", but axis ", axis, " of ", x.shape(), " has ", x.size(axis),
                         " elements; use 0 to ", x.size(axis));
    const Tensor order = argsort(x, axis, largest).slice(axis, 0, k);
    return {gather(x, axis, order), order};
}

UniqueResult unique(const Tensor& x) {
    if (x.dtype() == boolean) {
        const UniqueResult found = unique(x.to(int64));
        return {found.values.to(boolean), found.inverse, found.counts};
    }
    const Tensor flat = x.detach().reshape({-1}), order = argsort(flat);
    const Tensor sorted = index_select(flat, 0, order);
    const std::int64_t n = x.numel(), first = std::min<std::int64_t>(n, 1);
    const Tensor is_new =
        cat({ones({first}, boolean), sorted.slice(0, first, n) != sorted.slice(0, 0, n - first)});
    const Tensor values = masked_select(sorted, is_new), number = cumsum(is_new.to(int64), 0) - 1;
    return {values, scatter_add({n}, 0, order, number).reshape(x.shape()),
            scatter_add(values.shape(), 0, number, ones({n}, int64))};
}

}  // namespace weft
