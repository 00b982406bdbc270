// SIMD loops along one row of consecutive elements, in a fixed order: for kernels on short rows, where building
// an xtensor expression takes longer than its arithmetic (docs/performance.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <xsimd/xsimd.hpp>

namespace weft::kernels::fast {

constexpr std::int64_t row_batches = 64;  // vectors in one block of a sum

// y_i = f(x_i…) for n consecutive elements; the last vector is padded with zeros.
template <class T, class F, class... X>
void simd_run(const F& f, std::int64_t n, T* y, const X*... x) {
    using Batch = xsimd::batch<T>;
    constexpr std::int64_t width = Batch::size;
    std::int64_t i = 0;
    for (; i + width <= n; i += width) f(Batch::load_unaligned(x + i)...).store_unaligned(y + i);
    if (i == n) return;
    auto padded = [&](const T* from) {
        T buffer[width] = {};
        std::copy(from + i, from + n, buffer);
        return Batch::load_unaligned(buffer);
    };
    T last[width];
    f(padded(x)...).store_unaligned(last);
    std::copy(last, last + (n - i), y + i);
}

// y ← y · factor.
template <class T>
void multiply_row(std::int64_t n, T* y, T factor) {
    simd_run([f = xsimd::batch<T>(factor)](auto v) { return v * f; }, n, y, y);
}

// The sum of a vector's elements, whose name changed in xsimd 9.
template <class T>
T horizontal_sum(const xsimd::batch<T>& x) {
#if XSIMD_VERSION_MAJOR >= 9
    return xsimd::reduce_add(x);
#else
    return xsimd::hadd(x);
#endif
}

// Σ f(x_i). Each block is summed in vectors and the blocks in double, which keeps the rounding error small.
template <class T, class F, class... X>
double row_sum_of(const F& f, std::int64_t n, const X*... x) {
    using Batch = xsimd::batch<T>;
    constexpr std::int64_t width = Batch::size, block = row_batches * width;
    double total = 0;
    for (std::int64_t begin = 0; begin < n; begin += block) {
        const std::int64_t end = std::min(n, begin + block);
        Batch a(T(0)), b(T(0));
        std::int64_t i = begin;
        for (; i + 2 * width <= end; i += 2 * width) {
            a += f(Batch::load_unaligned(x + i)...);
            b += f(Batch::load_unaligned(x + i + width)...);
        }
        for (; i + width <= end; i += width) a += f(Batch::load_unaligned(x + i)...);
        total += static_cast<double>(horizontal_sum(a + b));
        if (i < end) {
            T rest[width];
            simd_run(f, end - i, rest, (x + i)...);
            for (std::int64_t j = 0; j < end - i; ++j) total += static_cast<double>(rest[j]);
        }
    }
    return total;
}

template <class T>
double row_sum(std::int64_t n, const T* x) {
    return row_sum_of<T>([](auto v) { return v; }, n, x);
}

// The largest element; −inf if n is 0. A NaN may or may not be returned: callers that must propagate NaN find
// it in the sums that follow.
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

}  // namespace weft::kernels::fast
