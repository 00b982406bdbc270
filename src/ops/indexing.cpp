#include "weft/ops/indexing.h"

#include <numeric>

#include "core/common.h"
#include "weft/core/indexing.h"

namespace weft {

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
