// linear: one product, with the bias as what it adds to, and both products of backward as one region.
#include <algorithm>
#include <mutex>

#include "core/common.h"
#include "core/run.h"
#include "fast/gemm.h"
#include "fast/packed_formats.h"
#include "fast/simd.h"
#include "packed/formats.h"

namespace weft::kernels::fast {
namespace {

// x (…, n) as (rows, n), in x's memory if it is contiguous.
Array as_rows(const Array& x, std::int64_t rows) {
    const Array dense = contiguous(x);
    return view_of(dense, {rows, x.shape[-1]}, {x.shape[-1], 1}, dense.offset);
}

// A weight as an operand in bfloat16, and of which view of the memory at which version.
struct Rounded {
    Array array;
    Strides strides;
    std::int64_t offset;
    std::uint64_t version;
};

// operand(weight), which is kept beside its memory, if it is rounded, until the weight changes.
Array kept_operand(const Array& weight) {
    if (operand_type(weight.dtype) == weight.dtype || weight.storage->is_foreign()) return operand(weight);
    static std::mutex mutex;
    Storage& storage = *weight.storage;
    {
        const std::lock_guard lock(mutex);
        if (const auto kept = std::static_pointer_cast<const Rounded>(storage.beside);
            kept && kept->version == storage.version && kept->offset == weight.offset &&
            kept->array.shape == weight.shape && kept->strides == weight.strides)
            return kept->array;
    }
    const Rounded made{operand(weight), weight.strides, weight.offset, storage.version};
    const std::lock_guard lock(mutex);
    storage.beside = std::make_shared<const Rounded>(made);
    return made.array;
}

// Whether products take this weight: not one that stores, unless they round to its type.
bool is_factor(const Array& weight) {
    return !only_stores(weight.dtype) || weight.dtype == operand_type(float32);
}

// y = x Wᵀ + b
std::optional<FusedResult> linear_at_once(const Inputs& in, const LinearOptions& o) {
    const Array &x = in[0].array(), &weight = in[1].array(), y = make_array(o.shape, x.dtype);
    const Tensor& bias = in[2];
    if (bias.defined()) copy(y, broadcast_view(bias.array(), o.shape));
    const Array to = as_rows(y, o.rows), from = as_rows(x, o.rows);
    if (is_factor(weight)) {
        const Product product{to, operand(from), transposed_view(kept_operand(weight), 0, 1), bias.defined()};
        products({&product, 1});
    } else {
        packed_linear(to, dense_operand(from), compact(contiguous(weight)), bias.defined());
    }
    return FusedResult{Tensor(y)};
}

// dx = dy W,  dW = dyᵀ x,  db = Σ dy; the products are one region, which has more tasks
Grads linear_rule(const Saved& saved, const Tensor& dy, const LinearOptions& o) {
    const Tensor &x = saved[0], &weight = saved[1];
    const Array dy_rows = as_rows(dy.array(), o.rows);
    Grads grads(3);
    if (saved.needs_input_grad(0)) grads[0] = empty(x.shape(), x.dtype());
    if (is_factor(weight.array())) {
        const Array d = operand(dy_rows);
        std::vector<Product> parts;
        if (grads[0].defined())
            parts.push_back({as_rows(grads[0].array(), o.rows), d, kept_operand(weight.array())});
        if (saved.needs_input_grad(1)) {
            grads[1] = empty(weight.shape(), x.dtype());
            parts.push_back({grads[1].array(), transposed_view(d, 0, 1), operand(as_rows(x.array(), o.rows))});
        }
        products(parts);
    } else if (grads[0].defined()) {
        packed_linear_backward(as_rows(grads[0].array(), o.rows), dense_operand(dy_rows),
                               compact(contiguous(weight.array())));
    }
    if (saved.needs_input_grad(2)) grads[2] = weft::sum(Tensor(dy_rows), 0);
    return grads;
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<LinearOptions> linear_kernel{kernels::fast::linear_at_once, kernels::fast::linear_rule};
}  // namespace weft

namespace weft::kernels::fast {

// Products with weights in fewer bits. One row, as decoding has it, meets the weights in registers: what it
// takes is the time to read them. Many rows share tiles of widened weights, which BLAS multiplies.

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
                for_items(m, w.k, parallel_grain, [&](std::int64_t i) {
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
            for_items(w.n, rows * w.k, dot_grain, [&](std::int64_t j) {
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
        for_items(indices.numel(), w.k, parallel_grain, [&](std::int64_t i) {
            widen_row<Format>(w.data + indices.data<std::int64_t>()[i] * w.row_bytes, w.k,
                              out.data<float>() + i * w.k);
        });
    });
}

}  // namespace weft::kernels::fast
