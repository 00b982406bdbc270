// Products with weights in fewer bits. One row, as decoding has it, meets the weights in registers: what it
// takes is the time to read them. Many rows share tiles of widened weights, which BLAS multiplies.
#include <algorithm>

#include "kernels/fast/gemm.h"
#include "kernels/fast/packed_formats.h"
#include "kernels/fast/sizes.h"
#include "kernels/interface.h"
#include "kernels/threads/parallel.h"
#include "kernels/visit_block.h"

namespace weft::kernels::fast {
namespace {

constexpr std::int64_t run = 32;        // weights that are widened at once
constexpr std::int64_t ahead = 2048;    // bytes: how far before its use memory is asked for
constexpr std::int64_t tile = 1 << 20;  // weights of one tile

template <class Function>
void visit_format(const CompactMatrix& w, const Function& f) {
    if (const DType* half = std::get_if<DType>(&w.format)) return *half == bfloat16 ? f(BF16{}) : f(F16{});
    visit_block<Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K>(std::get<BlockFormat>(w.format), f);
}

// f(weights, first) for the runs of a row of k weights, with the column at which each begins. A row of halves
// may end within a run, which zeros complete.
template <class Format, class Function>
void for_runs(const std::byte* row, std::int64_t k, const Function& f) {
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

template <class T>
void store(T* to, const Floats& v) {
    std::memcpy(to, &v, sizeof v);
}

// The elements first … of n, followed by zeros.
Run load_run(const float* x, std::int64_t first, std::int64_t n) {
    if (first + run <= n) return {load<Floats>(x + first), load<Floats>(x + first + run / 2)};
    float rest[run] = {};
    std::copy(x + first, x + n, rest);
    return {load<Floats>(rest), load<Floats>(rest + run / 2)};
}

float sum(const Floats& v) {
    using Four = float __attribute__((vector_size(16)));
    Four parts[4];
    std::memcpy(parts, &v, sizeof v);
    const Four s = (parts[0] + parts[2]) + (parts[1] + parts[3]);
    return (s[0] + s[2]) + (s[1] + s[3]);
}

template <class Format>
float dot(const std::byte* row, const float* x, std::int64_t k) {
    Floats low{}, high{};
    for_runs<Format>(row, k, [&](const Run& w, std::int64_t first) {
        const Run a = load_run(x, first, k);
        low += w.low * a.low;
        high += w.high * a.high;
    });
    return sum(low + high);
}

template <class Format>
void widen_row(const std::byte* row, std::int64_t k, float* out) {
    for_runs<Format>(row, k, [&](const Run& w, std::int64_t first) {
        if (first + run <= k) {
            store(out + first, w.low);
            store(out + first + run / 2, w.high);
        } else {
            float rest[run];
            store(rest, w.low);
            store(rest + run / 2, w.high);
            std::copy(rest, rest + (k - first), out + first);
        }
    });
}

// f(rows, first) for the rows of W, widened, tile by tile; `rows` (m, k) are those from `first` on.
template <class Format, class Function>
void for_tiles(const CompactMatrix& w, const Function& f) {
    const std::int64_t most = std::clamp<std::int64_t>(tile / std::max<std::int64_t>(w.k, 1), 1, w.n);
    const Array all = make_array({most, w.k}, float32);
    for (std::int64_t first = 0; first < w.n; first += most) {
        const std::int64_t m = std::min(most, w.n - first);
        parallel_for(m, w.k, parallel_grain, [&](std::int64_t i) {
            widen_row<Format>(w.data + (first + i) * w.row_bytes, w.k, all.data<float>() + i * w.k);
        });
        f(view_of(all, {m, w.k}, {w.k, 1}, all.offset), first);
    }
}

}  // namespace

void few_rows_linear(const Array& y, const Array& operand, const CompactMatrix& w, bool adds) {
    const Array x = operand.dtype == bfloat16 ? copy_of(operand, float32) : operand;
    const std::int64_t rows = x.shape[0];
    count_multiply_adds(rows * w.n * w.k, operand.dtype == bfloat16);
    visit_format(w, [&]<class Format>(Format) {
        parallel_for(w.n, rows * w.k, dot_grain, [&](std::int64_t j) {
            for (std::int64_t i = 0; i < rows; ++i) {
                float& out = y.data<float>()[i * w.n + j];
                out =
                    dot<Format>(w.data + j * w.row_bytes, x.data<float>() + i * w.k, w.k) + (adds ? out : 0.f);
            }
        });
    });
}

namespace {

void packed_linear(const Array& y, const Array& x, const CompactMatrix& w, bool adds) {
    const std::int64_t rows = x.shape[0];
    if (y.numel() == 0) return;
    if (rows <= few_rows) return few_rows_linear(y, x, w, adds);
    visit_format(w, [&]<class Format>(Format) {
        for_tiles<Format>(w, [&](const Array& part, std::int64_t first) {
            const Product product{view_of(y, {rows, part.shape[0]}, {w.n, 1}, y.offset + first), x,
                                  transposed_view(part, 0, 1), adds};
            active().products({&product, 1});
        });
    });
}

void packed_linear_backward(const Array& dx, const Array& dy, const CompactMatrix& w) {
    if (w.n == 0) return active().fill(dx, 0);
    if (dx.numel() == 0) return;
    visit_format(w, [&]<class Format>(Format) {
        for_tiles<Format>(w, [&](const Array& part, std::int64_t first) {
            const Product product{dx, view_of(dy, {dy.shape[0], part.shape[0]}, {w.n, 1}, dy.offset + first),
                                  part, first > 0};
            active().products({&product, 1});
        });
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

}  // namespace

extern const Packed packed_table{packed_linear, packed_linear_backward, widen_rows};

}  // namespace weft::kernels::fast
