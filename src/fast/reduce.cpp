#include "core/kernels.h"
#include "fast/simd.h"
#include "fast/sizes.h"

#include <numeric>

namespace weft::kernels::fast {
namespace {

// y (outer, parts, inner) = Σ over the `length` elements of each part, the last of which may have fewer, of
// x (outer, n, inner).
template <class T>
void sum_parts(T* y, const T* x, std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t parts,
               std::int64_t length) {
    if (inner == 1)
        return parallel_for(outer * parts, length, reduce_grain, [&](std::int64_t task) {
            const std::int64_t first = task % parts * length, size = std::min(length, n - first);
            const T* row = x + task / parts * n + first;
            if constexpr (std::is_floating_point_v<T>)
                y[task] = static_cast<T>(row_sum(size, row));
            else
                y[task] = std::accumulate(row, row + size, T(0));
        });
    // Columns in strips; within a strip, blocks of rows are summed first, which keeps rounding errors small.
    const std::int64_t strips = (inner + sum_strip - 1) / sum_strip;
    parallel_for(outer * parts * strips, length * sum_strip, reduce_grain, [&](std::int64_t task) {
        const std::int64_t part = task / strips, column = task % strips * sum_strip,
                           width = std::min(sum_strip, inner - column), first = part % parts * length,
                           last = std::min(n, first + length);
        const T* strip = x + part / parts * n * inner + column;
        T total[sum_strip] = {};
        for (std::int64_t block = first; block < last; block += sum_rows) {
            T sums[sum_strip] = {};
            for (std::int64_t i = block; i < std::min(last, block + sum_rows); ++i)
                for (std::int64_t j = 0; j < width; ++j) sums[j] += strip[i * inner + j];
            for (std::int64_t j = 0; j < width; ++j) total[j] += sums[j];
        }
        std::copy(total, total + width, y + part * inner + column);
    });
}

// y (outer, inner) = Σ over n of x (outer, n, inner). A long sum is one of the sums of its parts.
template <class T>
void sum_axis(T* y, const T* x, std::int64_t outer, std::int64_t n, std::int64_t inner) {
    const std::int64_t length = inner == 1 ? sum_part : rows_part, parts = (n + length - 1) / length;
    if (parts > 1) {
        std::vector<T> sums(static_cast<std::size_t>(outer * parts * inner));
        sum_parts(sums.data(), x, outer, n, inner, parts, length);
        return sum_axis(y, sums.data(), outer, parts, inner);
    }
    sum_parts(y, x, outer, n, inner, 1, n);
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
            const Layout l(part.shape, first, last);
            sum_axis(y.data<T>(), part.data<T>(), l.outer, l.n, l.inner);
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

}  // namespace weft::kernels::fast
