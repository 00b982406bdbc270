#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/formula.h"
#include "core/kernels.h"
#include "fast/simd.h"
#include "ops/common.h"

namespace weft::kernels::fast {
namespace {

// y (outer, parts, inner) = Σ over the `length` elements of each part, the last of which may have fewer, of
// x (outer, n, inner).
template <class T>
void sum_parts(T* y, const T* x, std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t parts,
               std::int64_t length) {
    if (inner == 1)
        return for_items(outer * parts, length, reduce_grain, [&](std::int64_t task) {
            const std::int64_t first = task % parts * length, size = std::min(length, n - first);
            const T* row = x + task / parts * n + first;
            if constexpr (std::is_floating_point_v<T>)
                y[task] = static_cast<T>(row_sum(size, row));
            else
                y[task] = std::accumulate(row, row + size, T(0));
        });
    // Columns in strips; within a strip, blocks of rows are summed first, which keeps rounding errors small.
    const std::int64_t strips = (inner + sum_strip - 1) / sum_strip;
    for_items(outer * parts * strips, length * sum_strip, reduce_grain, [&](std::int64_t task) {
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
        for_items(l.outer * l.inner, l.n, reduce_grain, [&](std::int64_t task) {
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

namespace {

using reference::for_lines, reference::Wide;

// value · 2^exponent, so that a product of many factors neither overflows nor underflows.
struct Scaled {
    double value;
    std::int64_t exponent = 0;
};

Scaled in_range(Scaled x) {
    const double size = std::abs(x.value);
    if ((size > 0x1p-500 && size < 0x1p500) || size == 0 || !std::isfinite(size)) return x;
    int shift = 0;
    const double value = std::frexp(x.value, &shift);
    return {value, x.exponent + shift};
}

double times_power_of_two(double x, std::int64_t exponent) {
    return exponent == 0 ? x : std::ldexp(x, static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000)));
}

Scaled operator*(Scaled a, Scaled b) { return in_range({a.value * b.value, a.exponent + b.exponent}); }

Scaled operator+(Scaled a, Scaled b) {
    if (a.value == 0) return b;
    if (b.value == 0) return a;
    const std::int64_t exponent = std::max(a.exponent, b.exponent);
    return in_range({times_power_of_two(a.value, a.exponent - exponent) +
                         times_power_of_two(b.value, b.exponent - exponent),
                     exponent});
}

}  // namespace

void cumsum(const Array& out, const Array& x, int axis, bool reverse) {
    const Array dense = contiguous(x);
    const Layout l(x.shape, axis, axis + 1);
    for_lines(out, l, [&]<class T>(std::int64_t start, T) {
        const T* from = dense.data<T>();
        T* to = out.data<T>();
        // float64 sums what each addition rounds off beside the total (Knuth, "The art of computer
        // programming", volume 2, §4.2.2, theorem B).
        Wide<T> total = 0, rounded_off = 0;
        for (std::int64_t i = 0; i < l.n; ++i) {
            const std::int64_t at = start + (reverse ? l.n - 1 - i : i) * l.inner;
            const Wide<T> before = total, v = from[at];
            total += v;
            if constexpr (std::is_same_v<T, double>) {
                const double added = total - before;
                rounded_off += (before - (total - added)) + (v - added);
                to[at] = std::isfinite(total) ? total + rounded_off : total;
            } else {
                to[at] = static_cast<T>(total);
            }
        }
    });
}

void cumprod_backward(const Array& dx, const Array& x, const Array& dy, int axis) {
    const Array factors = contiguous(x), slopes = contiguous(dy);
    const Layout l(x.shape, axis, axis + 1);
    for_lines(dx, l, [&]<class T>(std::int64_t start, T) {
        const auto at = [&](std::int64_t i) { return start + i * l.inner; };
        const auto factor = [&](std::int64_t i) {
            return in_range({static_cast<double>(factors.data<T>()[at(i)])});
        };
        std::vector<Scaled> before(static_cast<std::size_t>(l.n), Scaled{1});  // Π_{k < j} x_k
        for (std::int64_t j = 1; j < l.n; ++j)
            before[static_cast<std::size_t>(j)] = before[static_cast<std::size_t>(j - 1)] * factor(j - 1);
        Scaled after{0};  // Σ_{i ≥ j} dy_i · Π_{j < k ≤ i} x_k
        for (std::int64_t j = l.n - 1; j >= 0; --j) {
            const Scaled slope = in_range({static_cast<double>(slopes.data<T>()[at(j)])});
            after = j == l.n - 1 ? slope : slope + factor(j + 1) * after;
            const Scaled d = before[static_cast<std::size_t>(j)] * after;
            dx.data<T>()[at(j)] = static_cast<T>(times_power_of_two(d.value, d.exponent));
        }
    });
}

namespace {

// Calls f(position in `small`, position in `big` with index 0 along the axis) for every element of `small`,
// whose sizes are at most `big`'s except along the axis. Elements that differ along the axis alone belong to
// one task, in their order.
template <class F>
void walk(const Shape& small, const Shape& big, int axis, const F& f) {
    const Layout l(small, axis, axis + 1);
    const Strides strides = contiguous_strides(big);
    const auto base = [&](std::int64_t line) {
        std::int64_t at = 0;
        for (int a = small.rank() - 1; a >= 0; --a) {
            if (a == axis) continue;
            at += line % small[a] * strides[a];
            line /= small[a];
        }
        return at;
    };
    const std::int64_t lines = l.outer * l.inner,
                       grain = std::max<std::int64_t>(1, index_grain / std::max<std::int64_t>(l.n, 1));
    parallel_blocks(lines, grain, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::int64_t> bases;
        for (std::int64_t line = begin; line < end; line += static_cast<std::int64_t>(bases.size())) {
            const std::int64_t first = line / l.inner * l.n * l.inner + line % l.inner;
            bases.clear();
            for (std::int64_t i = line; i < std::min(end, (line / l.inner + 1) * l.inner); ++i)
                bases.push_back(base(i));
            for (std::int64_t i = 0; i < l.n; ++i)
                for (std::size_t j = 0; j < bases.size(); ++j)
                    f(first + i * l.inner + static_cast<std::int64_t>(j), bases[j]);
        }
    });
}

}  // namespace

void index_select(const Array& out, const Array& x, int axis, const Array& indices) {
    const Layout l(x.shape, axis, axis + 1);
    if (l.inner == 0) return;
    const std::int64_t n = indices.numel(), size = static_cast<std::int64_t>(itemsize(x.dtype)),
                       bytes = l.inner * size;
    const std::int64_t* index = indices.data<std::int64_t>();
    const auto* source = static_cast<const char*>(x.storage->data) + x.offset * size;
    auto* target = static_cast<char*>(out.storage->data) + out.offset * size;
    for_items(l.outer * n, bytes, index_bytes, [&](std::int64_t i) {
        std::memcpy(target + i * bytes, source + (i / n * l.n + index[i % n]) * bytes,
                    static_cast<std::size_t>(bytes));
    });
}

void index_add(const Array& out, int axis, const Array& indices, const Array& source) {
    const Layout l(out.shape, axis, axis + 1);
    const std::int64_t n = indices.numel(), inner = l.inner;
    const std::int64_t* index = indices.data<std::int64_t>();
    visit_wrapping(out.dtype, [&]<class T>(T) {
        // Every task owns a strip of columns, so the additions are in the order of the indices.
        const std::int64_t strips = (inner + index_strip - 1) / index_strip;
        for_items(l.outer * strips, n * index_strip, index_grain, [&](std::int64_t task) {
            const std::int64_t o = task / strips, begin = task % strips * index_strip,
                               end = std::min(inner, begin + index_strip);
            for (std::int64_t i = 0; i < n; ++i) {
                const T* s = source.data<T>() + (o * n + i) * inner;
                T* d = out.data<T>() + (o * l.n + index[i]) * inner;
                for (std::int64_t j = begin; j < end; ++j) d[j] += s[j];
            }
        });
    });
}

void gather(const Array& out, const Array& x, int axis, const Array& index) {
    const std::int64_t stride = contiguous_strides(x.shape)[axis];
    visit_any(x.dtype, [&]<class T>(T) {
        walk(index.shape, x.shape, axis, [&](std::int64_t i, std::int64_t base) {
            out.data<T>()[i] = x.data<T>()[base + index.data<std::int64_t>()[i] * stride];
        });
    });
}

void scatter_add(const Array& out, int axis, const Array& index, const Array& source) {
    const std::int64_t stride = contiguous_strides(out.shape)[axis];
    visit_wrapping(out.dtype, [&]<class T>(T) {
        walk(index.shape, out.shape, axis, [&](std::int64_t i, std::int64_t base) {
            out.data<T>()[base + index.data<std::int64_t>()[i] * stride] += source.data<T>()[i];
        });
    });
}

}  // namespace weft::kernels::fast
