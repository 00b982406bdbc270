// Sums and maxima of one row of consecutive elements, in SIMD lanes whose number and order are fixed.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/kernels/runs.h"

namespace weft::kernels {

constexpr std::int64_t row_batches = 64;  // vectors of one block of a sum

// Σ f(x_i) in blocks that keep the rounding error small: lanes inside a block, blocks in double. f makes an
// xtensor expression of its operands.
template <class T, class F, class... X>
double row_sum_of(std::int64_t n, const F& f, const X*... x) {
    constexpr std::int64_t width = xsimd::batch<T>::size, block = row_batches * width;
    const std::tuple operands(adapt(x, n)...);
    const auto e = std::apply(f, operands);
    double total = 0;
    for (std::int64_t begin = 0; begin < n; begin += block) {
        const std::int64_t end = std::min(n, begin + block);
        xsimd::batch<T> a(T(0)), b(T(0));
        std::int64_t i = begin;
        for (; i + 2 * width <= end; i += 2 * width) {
            a += vector_at<T>(e, i);
            b += vector_at<T>(e, i + width);
        }
        for (; i + width <= end; i += width) a += vector_at<T>(e, i);
        total += static_cast<double>(xsimd::hadd(a + b));
        if (i == end) continue;
        T last[width];
        evaluate(end - i, last, f, x + i...);
        for (std::int64_t j = 0; j < end - i; ++j) total += static_cast<double>(last[j]);
    }
    return total;
}

template <class T>
double row_sum(std::int64_t n, const T* x) {
    return row_sum_of<T>(
        n, [](const auto& x) -> const auto& { return x; }, x);
}

// The largest element, −inf over nothing. A NaN may or may not be seen: callers whose result a NaN must reach
// find it in the sums that follow.
template <class T>
T row_max(std::int64_t n, const T* x) {
    using Batch = xsimd::batch<T>;
    constexpr std::int64_t width = Batch::size;
    T largest = -std::numeric_limits<T>::infinity();
    std::int64_t i = 0;
    if (n >= width) {
        Batch m(largest);
        for (; i + width <= n; i += width) m = xsimd::max(m, Batch::load_unaligned(x + i));
        T lanes[width];
        m.store_unaligned(lanes);
        for (T lane : lanes) largest = lane > largest ? lane : largest;
    }
    for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
}

}  // namespace weft::kernels
