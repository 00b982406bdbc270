#include "core/kernels/reduce.h"

#include <numeric>

#include "core/kernels/elementwise.h"
#include "core/kernels/parallel.h"
#include "core/kernels/rows.h"

namespace weft::kernels {
namespace {

// y (outer, inner) = Σ over n of x (outer, n, inner).
template <class T>
void sum_axis(T* y, const T* x, const Layout& l) {
    if (l.inner == 1)
        return parallel_for(l.outer, l.n, reduce_grain, [&](std::int64_t o) {
            const T* row = x + o * l.n;
            if constexpr (std::is_floating_point_v<T>)
                y[o] = static_cast<T>(row_sum(l.n, row));
            else
                y[o] = std::accumulate(row, row + l.n, T(0));
        });
    // Columns in strips; within a strip, blocks of rows are summed first, which keeps rounding errors small.
    const std::int64_t strips = (l.inner + sum_strip - 1) / sum_strip;
    parallel_for(l.outer * strips, l.n * sum_strip, reduce_grain, [&](std::int64_t task) {
        const std::int64_t o = task / strips, column = task % strips * sum_strip,
                           width = std::min(sum_strip, l.inner - column);
        const T* strip = x + o * l.n * l.inner + column;
        T total[sum_strip] = {};
        for (std::int64_t block = 0; block < l.n; block += sum_rows) {
            T part[sum_strip] = {};
            for (std::int64_t i = block; i < std::min(l.n, block + sum_rows); ++i)
                for (std::int64_t j = 0; j < width; ++j) part[j] += strip[i * l.inner + j];
            for (std::int64_t j = 0; j < width; ++j) total[j] += part[j];
        }
        std::copy(total, total + width, y + o * l.inner + column);
    });
}

}  // namespace

Array sum(const Array& x, const std::vector<bool>& reduced) {
    Array part = contiguous(x);
    // One run of neighbouring reduced axes after another, the last first.
    for (int last = x.rank(); last > 0; --last) {
        int first = last;
        while (first > 0 && reduced[static_cast<std::size_t>(first - 1)]) --first;
        if (first == last) continue;
        Shape shape = part.shape;
        for (int i = first; i < last; ++i) shape[i] = 1;
        Array y = make_array(shape, x.dtype);
        visit_wrapping(x.dtype, [&]<class T>(T) {
            sum_axis(y.data<T>(), part.data<T>(), Layout(part.shape, first, last));
        });
        part = y;
        last = first;
    }
    return part;
}

MinMax min_max(const Array& x, int axis, bool largest) {
    const Array dense = contiguous(x);
    Shape shape = x.shape;
    shape[axis] = 1;
    MinMax result{make_array(shape, x.dtype), make_array(shape, int64)};
    const Layout l(x.shape, axis, axis + 1);
    visit_numeric(x.dtype, [&]<class T>(T) {
        const auto is_nan = [](T v) { return v != v; };
        parallel_for(l.outer * l.inner, l.n, reduce_grain, [&](std::int64_t task) {
            const T* row = dense.data<T>() + task / l.inner * l.n * l.inner + task % l.inner;
            std::int64_t best = 0;
            for (std::int64_t i = 1; i < l.n && !is_nan(row[best * l.inner]); ++i) {
                const T v = row[i * l.inner], b = row[best * l.inner];
                if (is_nan(v) || (largest ? v > b : v < b)) best = i;
            }
            result.values.data<T>()[task] = row[best * l.inner];
            result.indices.data<std::int64_t>()[task] = best;
        });
    });
    return result;
}

void cumsum(const Array& out, const Array& x, int axis, bool reverse) {
    const Array dense = contiguous(x);
    const Layout l(x.shape, axis, axis + 1);
    visit_wrapping(x.dtype, [&]<class T>(T) {
        parallel_for(l.outer * l.inner, l.n, reduce_grain, [&](std::int64_t task) {
            const std::int64_t start = task / l.inner * l.n * l.inner + task % l.inner;
            T total = 0;
            for (std::int64_t i = 0; i < l.n; ++i) {
                const std::int64_t at = start + (reverse ? l.n - 1 - i : i) * l.inner;
                total += dense.data<T>()[at];
                out.data<T>()[at] = total;
            }
        });
    });
}

}  // namespace weft::kernels
