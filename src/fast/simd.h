// The sizes at which the fast kernels switch. Work is cut where sizes say, never where threads are, so that the
// bits do not depend on the number of threads (docs/performance.md has the measurements).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <xsimd/xsimd.hpp>

#include "core/kernels.h"

namespace weft::kernels::fast {

constexpr std::int64_t run_length = 512;        // elements of one gathered run
constexpr std::int64_t parallel_grain = 16384;  // elements of one task
constexpr std::int64_t row_grain = 8192;        // elements of one task of rows
constexpr std::int64_t norm_group = 16;  // rows whose contributions to dweight and dbias are summed first

constexpr std::int64_t reduce_grain = 8192;            // elements of one task
constexpr std::int64_t sum_strip = 64, sum_rows = 64;  // columns and rows of one block of a sum
// A longer sum is cut into parts of so many elements, or rows if it is over columns.
constexpr std::int64_t sum_part = 32768, rows_part = 512;

constexpr std::int64_t index_bytes = 131072;  // bytes of one task of index_select
constexpr std::int64_t index_strip = 64;      // columns of one task of index_add
constexpr std::int64_t index_grain = 8192;    // elements of one task of the others

// A tile of scores has at most tile_queries queries, or tile_max_queries from tile_many_keys keys on, and at
// most tile_keys_per_query times as many keys.
constexpr std::int64_t tile_queries = 64, tile_max_queries = 128, tile_many_keys = 2048,
                       tile_keys_per_query = 4, tile_max_keys = tile_keys_per_query * tile_max_queries;
constexpr std::int64_t attention_grain = 1 << 16;  // multiply-adds of the scores of one task
constexpr std::int64_t attention_tasks = 128;      // number of tasks of backward, where the sizes allow

// Rows of a product in bfloat16 from which it is worth a primitive of oneDNN's, which takes a third of a
// millisecond to make; that of fewer rows has often a length of its own, as that of a cache.
constexpr std::int64_t least_half_rows = 8;
constexpr double cost_of_half = 4;    // of copying, in multiply-adds of bfloat16 instead of float32
constexpr std::int64_t few_rows = 4;  // as many rows meet weights of fewer bits in registers
constexpr std::int64_t dot_grain = 1 << 16, batch_grain = 1 << 18;  // multiply-adds of one task
constexpr std::int64_t least_parallel = 1 << 21;  // multiply-adds of products that several threads share
constexpr std::int64_t least_block = 3 << 20;     // multiply-adds of one block of a product
constexpr std::int64_t most_blocks = 64, block_multiple = 16;  // the sides are multiples, except the last
constexpr std::int64_t largest_part = 1 << 18;  // elements of c where the sum may be cut, which takes memory
// What twice as many blocks are worth, over their number and as a share of the product. More for products of
// medium size (GPT-2's layers with 256 tokens): measured, it costs two threads nothing there.
constexpr double gain_of_tasks = 0.4, gain_of_medium = 0.75;
constexpr std::int64_t medium_product = 1 << 27, large_product = 1 << 30;  // multiply-adds

// SIMD loops along one row of consecutive elements, in a fixed order: for kernels on short rows, where building
// an xtensor expression takes longer than its arithmetic (docs/performance.md).

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

// Whether elements are kept, many at a time.

// factors_i = 1 / (1 − p) if element e + i is kept, else 0 (fill_dropout of core/kernels.h).
template <class T>
void dropout_factors(const Dropout& dropout, std::int64_t e, std::int64_t n, T* factors);

}  // namespace weft::kernels::fast
