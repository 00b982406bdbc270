// Products with weights in fewer bits. One row, as decoding has it, meets the weights in registers: what it
// takes is the time to read them. Many rows share tiles of widened weights, which BLAS multiplies.
#include <algorithm>

#include "fast/gemm.h"
#include "fast/packed_formats.h"
#include "fast/sizes.h"
#include "packed/packed.h"

namespace weft::kernels::fast {
namespace {

constexpr std::int64_t run = 32;        // weights that are widened at once
constexpr std::int64_t ahead = 2048;    // bytes: how far before its use memory is asked for
constexpr std::int64_t tile = 1 << 20;  // weights of one tile

template <class Function>
void visit_format(const CompactMatrix& w, const Function& f) {
    if (!is_quantized(w.dtype)) return w.dtype == bfloat16 ? f(BF16{}) : f(F16{});
    visit_block<Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K>(w.dtype, f);
}

// f(0) of the type of a product's operands.
template <class Function>
void visit_operand(DType type, const Function& f) {
    type == bfloat16 ? f(BFloat16()) : f(float());
}

// f(weights, first) for the runs of a row of k weights, with the column at which each begins. A row of halves
// may end within a run, which zeros complete.
template <class Format, class Function>
void for_block_runs(const std::byte* row, std::int64_t k, const Function& f) {
    constexpr int parts = Format::length / run;
    std::int64_t i = 0;
    for (; i + Format::length <= k; i += Format::length, row += Format::bytes)
        for (int part = 0; part < parts; ++part) {
            __builtin_prefetch(row + ahead + part * (Format::bytes / parts));
            f(Format::widen(row, part), i + part * run);
        }
    if (i == k) return;
    std::byte rest[Format::bytes] = {};
    std::copy(row, row + 2 * (k - i), rest);
    f(Format::widen(rest, 0), i);
}

void store(float* to, const Floats& v) { std::memcpy(to, &v, sizeof v); }
void store(BFloat16* to, const Floats& v) {
    const Halves bits = to_bfloat16(v);
    std::memcpy(static_cast<void*>(to), &bits, sizeof bits);
}

Run load_elements(const float* x) { return {load<Floats>(x), load<Floats>(x + run / 2)}; }
HalfRun load_elements(const BFloat16* x) { return load<HalfRun>(x); }

// The elements first … of n, followed by zeros.
template <class T>
auto load_run(const T* x, std::int64_t first, std::int64_t n) {
    if (first + run <= n) return load_elements(x + first);
    T rest[run] = {};
    std::copy(x + first, x + n, rest);
    return load_elements(rest);
}

// Adds the products of weights and elements to two sums.
void add_products(Floats& low, Floats& high, const Run& w, const Run& x) {
    low += w.low * x.low;
    high += w.high * x.high;
}
// The same of weights that are rounded to bfloat16. The sums change places, because each waits for its last
// addition.
void add_products(Floats& low, Floats& high, const Run& w, const HalfRun& x) {
#if defined(__AVX512BF16__)
    const __m512bh weights = _mm512_cvtne2ps_pbh(std::bit_cast<__m512>(w.high), std::bit_cast<__m512>(w.low));
    low = std::bit_cast<Floats>(
        _mm512_dpbf16_ps(std::bit_cast<__m512>(low), weights, std::bit_cast<__m512bh>(x)));
    std::swap(low, high);
#else
    const auto halves = std::bit_cast<std::array<Halves, 2> >(x);
    low += rounded(w.low) * BF16::widen(halves[0]);
    high += rounded(w.high) * BF16::widen(halves[1]);
#endif
}

float lanes_sum(const Floats& v) {
    using Four = float __attribute__((vector_size(16)));
    Four parts[4];
    std::memcpy(parts, &v, sizeof v);
    const Four s = (parts[0] + parts[2]) + (parts[1] + parts[3]);
    return (s[0] + s[2]) + (s[1] + s[3]);
}

template <class Format, class T>
float row_dot(const std::byte* row, const T* x, std::int64_t k) {
    Floats low{}, high{};
    for_block_runs<Format>(
        row, k, [&](const Run& w, std::int64_t first) { add_products(low, high, w, load_run(x, first, k)); });
    return lanes_sum(low + high);
}

// T is float, or BFloat16, to which the weights are rounded.
template <class Format, class T>
void widen_row(const std::byte* row, std::int64_t k, T* out) {
    for_block_runs<Format>(row, k, [&](const Run& w, std::int64_t first) {
        if (first + run <= k) {
            store(out + first, w.low);
            store(out + first + run / 2, w.high);
        } else {
            T rest[run];
            store(rest, w.low);
            store(rest + run / 2, w.high);
            std::copy(rest, rest + (k - first), out + first);
        }
    });
}

// f(rows, first) for the rows of W, as float32 or bfloat16, tile by tile; `rows` (m, k) are those from `first`
// on.
template <class Function>
void for_tiles(const CompactMatrix& w, DType operands, const Function& f) {
    const std::int64_t most = std::clamp<std::int64_t>(tile / std::max<std::int64_t>(w.k, 1), 1, w.n);
    const Array all = make_array({most, w.k}, operands);
    visit_format(w, [&]<class Format>(Format) {
        for (std::int64_t first = 0; first < w.n; first += most) {
            const std::int64_t m = std::min(most, w.n - first);
            visit_operand(operands, [&]<class T>(T) {
                parallel_for(m, w.k, parallel_grain, [&](std::int64_t i) {
                    widen_row<Format>(w.data + (first + i) * w.row_bytes, w.k, all.data<T>() + i * w.k);
                });
            });
            f(view_of(all, {m, w.k}, {w.k, 1}, all.offset), first);
        }
    });
}

}  // namespace

void few_rows_linear(const Array& y, const Array& x, const CompactMatrix& w, bool adds) {
    const std::int64_t rows = x.shape[0];
    count_multiply_adds(rows * w.n * w.k, x.dtype == bfloat16);
    visit_format(w, [&]<class Format>(Format) {
        visit_operand(x.dtype, [&]<class T>(T) {
            parallel_for(w.n, rows * w.k, dot_grain, [&](std::int64_t j) {
                for (std::int64_t i = 0; i < rows; ++i) {
                    float& out = y.data<float>()[i * w.n + j];
                    out = row_dot<Format>(w.data + j * w.row_bytes, x.data<T>() + i * w.k, w.k) +
                          (adds ? out : 0.f);
                }
            });
        });
    });
}

void packed_linear(const Array& y, const Array& x, const CompactMatrix& w, bool adds) {
    const std::int64_t rows = x.shape[0];
    if (y.numel() == 0) return;
    if (rows <= few_rows) return few_rows_linear(y, x, w, adds);
    for_tiles(w, x.dtype, [&](const Array& part, std::int64_t first) {
        const Product product{view_of(y, {rows, part.shape[0]}, {w.n, 1}, y.offset + first), x,
                              transposed_view(part, 0, 1), adds};
        products({&product, 1});
    });
}

void packed_linear_backward(const Array& dx, const Array& dy, const CompactMatrix& w) {
    if (w.n == 0) return fill(dx, 0);
    if (dx.numel() == 0) return;
    for_tiles(w, dy.dtype, [&](const Array& part, std::int64_t first) {
        const Product product{dx, view_of(dy, {dy.shape[0], part.shape[0]}, {w.n, 1}, dy.offset + first), part,
                              first > 0};
        products({&product, 1});
    });
}

void widen_rows(const Array& out, const CompactMatrix& w, const Array& indices) {
    visit_format(w, [&]<class Format>(Format) {
        parallel_for(indices.numel(), w.k, parallel_grain, [&](std::int64_t i) {
            widen_row<Format>(w.data + indices.data<std::int64_t>()[i] * w.row_bytes, w.k,
                              out.data<float>() + i * w.k);
        });
    });
}

}  // namespace weft::kernels::fast
