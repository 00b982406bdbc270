// A place where something else may stand in for a function.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "core/array.h"
#include "weft/core/modes.h"

namespace weft::kernels {

// A primitive. Its plain loops, written beside it, are what it means; where src/fast has something faster, that
// runs, except under Plain(Plain::primitives). It is known before any program starts.
template <class Function>
class Slot;
template <class Result, class... Arguments>
class Slot<Result(Arguments...)> {
public:
    using Type = Result(Arguments...);
    constexpr Slot(Type* plain, Type* const& fast) : plain_(plain), fast_(&fast) {}
    bool is_plain() const { return *fast_ == nullptr || weft::is_plain(Plain::primitives); }
    Result operator()(Arguments... arguments) const {
        return (is_plain() ? plain_ : *fast_)(std::forward<Arguments>(arguments)...);
    }

private:
    Type* plain_;
    Type* const* fast_;  // null where nothing stands in
};

// Work in tasks. Their number and borders depend on sizes alone, and no two tasks write the same output, so the
// number of threads does not change the bits.

// task(context, 0) … task(context, tasks − 1), and the type of the function that the loop was called with.
struct Loop {
    std::int64_t tasks;
    void (*task)(const void* context, std::int64_t index);
    const void* context;
    const std::type_info& body;
};

// Runs a loop's tasks: one after the other, or in any order on several threads, and then rethrows the first
// exception.
extern const Slot<void(const Loop& loop)> run_tasks;
constexpr int max_threads = 1024;

// Runs f(begin, end) over 0 … n in blocks of `grain` items. Loop::body is Body.
template <class Body, class F>
void run_blocks(std::int64_t n, std::int64_t grain, const F& f) {
    grain = std::max<std::int64_t>(grain, 1);
    const auto run = [&](std::int64_t block) { f(block * grain, std::min(n, (block + 1) * grain)); };
    const auto task = [](const void* run_block, std::int64_t block) {
        (*static_cast<decltype(run)*>(run_block))(block);
    };
    run_tasks({n / grain + (n % grain != 0), task, &run, typeid(Body)});
}

template <class F>
void parallel_blocks(std::int64_t n, std::int64_t grain, const F& f) {
    run_blocks<F>(n, grain, f);
}

// How many items of `size` elements make a task of about `grain` elements.
constexpr std::int64_t items_of_a_task(std::int64_t size, std::int64_t grain) {
    return grain / std::max<std::int64_t>(size, 1) + 1;
}

// Runs f(0) … f(n − 1), each of which processes `size` elements; a task has about `grain` elements.
template <class F>
void for_items(std::int64_t n, std::int64_t size, std::int64_t grain, const F& f) {
    run_blocks<F>(n, items_of_a_task(size, grain), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(i);
    });
}

// The primitives: what each promises. Its plain loops, in plain_loops.cpp, are what it means, and src/fast may
// have something faster for its slot. What has no slot here has one text, written with apply (core/formula.h)
// or for_items. Arrays are strided; inputs have out's shape (broadcast_view makes it) and type unless stated
// otherwise. int64 wraps on overflow, as in NumPy.

struct Dropout {
    double p = 0;  // 0 ≤ p < 1
    std::uint64_t seed = 0, first = 0;
};
// How many positions of the generator n elements take.
constexpr std::uint64_t dropout_positions(std::int64_t n) { return (static_cast<std::uint64_t>(n) + 3) / 4; }

// Calls body(context, n, y, x) for every run of `out` and `in`: n elements, one after the other at y, and at
// each x[k] (gathered there if they are not so in memory). Each input has out's shape, with strides of 0 where
// it is broadcast. At most three inputs.
using RunBody = void (*)(const void* context, std::int64_t n, void* y, const void* const* x);
extern const Slot<void(const Array& out, std::initializer_list<const Array*> in, RunBody body,
                       const void* context)>
    for_runs;

void fill(const Array& out, double value);
void copy(const Array& out, const Array& x);  // any types: converts
// start + i · step, in a contiguous out: floating, and int64.
void fill_range(const Array& out, double start, double step);
void fill_integers(const Array& out, std::int64_t start, std::int64_t step);
// The elements first … of a seed's sequence (weft/core/random.h), in a contiguous out.
void fill_uniform(const Array& out, std::uint64_t seed, std::uint64_t first);
void fill_normal(const Array& out, std::uint64_t seed, std::uint64_t first);
void fill_randint(const Array& out, std::uint64_t seed, std::uint64_t first, std::int64_t low,
                  std::int64_t high);
// Element e of a contiguous out is 1 / (1 − p) if it is kept, else 0. It is kept if word e mod 4 of
// philox(seed, first + ⌊e / 4⌋) is at least p · 2³²: whoever knows an element's number knows whether it was
// kept.
extern const Slot<void(const Array& out, const Dropout& dropout)> fill_dropout;

void add(const Array& out, const Array& a, const Array& b);       // a + b
void axpy(const Array& out, double alpha, const Array& x);        // out ← out + alpha · x
void multiply(const Array& out, const Array& a, const Array& b);  // a · b
void scale(const Array& out, const Array& x, double factor);      // factor · x
void where(const Array& out, const Array& condition, const Array& a, const Array& b);  // bool: a, else b
extern const Slot<void(const Array&out, const Array&x)> exp, log, sigmoid;  // eˣ, ln x, 1/(1 + e⁻ˣ); floating

// Where this thread's products add their multiply-adds, and behind it those of operands in bfloat16
// (CountMultiplyAdds, weft/watch/trace.h); or null. Tasks have that of the thread which runs them.
inline constinit thread_local std::atomic<std::int64_t>* multiply_adds = nullptr;
inline void count_multiply_adds(std::int64_t n, bool in_bfloat16 = false) {
    if (multiply_adds == nullptr) [[likely]]
        return;
    multiply_adds[0].fetch_add(n, std::memory_order_relaxed);
    if (in_bfloat16) multiply_adds[1].fetch_add(n, std::memory_order_relaxed);
}

// Which matrix of a product y = a b has an element for each pair (query, key).
enum class Pairs { in_a, in_b, in_y };

// out (…, m, n) = a (…, m, k) · b (…, k, n). The leading axes are equal, is_matrix holds for a and b, and out
// is contiguous.
extern const Slot<void(const Array& out, const Array& a, const Array& b)> matmul;
// matmul of four axes in which `pairs` names a or b. Its elements at `blocked` (bool, of its shape) count as 0
// and are multiplied with nothing, because 0 · NaN is NaN.
extern const Slot<void(const Array& out, const Array& a, const Array& b, const Array& blocked, Pairs pairs)>
    masked_matmul;

// A contiguous shape as (outer, n, inner), where n is the product of the axes first … last − 1.
struct Layout {
    std::int64_t outer = 1, n = 1, inner = 1;
    Layout(const Shape& shape, int first, int last) {
        for (int i = 0; i < shape.rank(); ++i) (i < first ? outer : i < last ? n : inner) *= shape.begin()[i];
    }
};

// Over the marked axes, which get size 1. The order of the sum depends on the shape alone.
extern const Slot<Array(const Array& x, const std::vector<bool>& reduced)> sum;

// Along the last axis of contiguous arrays of one floating type. y = e^(x − max) / Σ; a row of −inf gives
// zeros. And y = x − max − ln Σ e^(x − max); a row of −inf stays −inf.
extern const Slot<void(const Array&y, const Array&x)> softmax, log_softmax;

// Indices are int64, contiguous, and within 0 … size − 1; the other arrays are contiguous.
// x (outer, V, inner), indices (n,) → out (outer, n, inner).
extern const Slot<void(const Array& out, const Array& x, int axis, const Array& indices)> index_select;
// out (outer, V, inner) += source (outer, n, inner) at the indices, in the order of the indices.
extern const Slot<void(const Array& out, int axis, const Array& indices, const Array& source)> index_add;
// out_{i…} = x at index_{i…} along the axis. out is like index, x has its rank.
extern const Slot<void(const Array& out, const Array& x, int axis, const Array& index)> gather;
// out at index_{i…} along the axis += source_{i…}; source is like index.
extern const Slot<void(const Array& out, int axis, const Array& index, const Array& source)> scatter_add;

// W (n, k), the weight of a layer or a table that stores, as it is read: a contiguous matrix of bfloat16,
// float16 or blocks.
struct CompactMatrix {
    DType dtype;
    const std::byte* data;
    std::int64_t n, k, row_bytes;
};
// DTypeError where a row of blocks begins or ends within one.
inline CompactMatrix compact(const Array& w) {
    return {w.dtype, bytes_at(w), w.shape[0], w.shape[1], bytes_of(w.dtype, w.shape[1])};
}
// out (R, k), float32, = the rows of W at indices (R,), int64 and within 0 … n − 1; out is contiguous
// (src/packed/pack.cpp).
extern const Slot<void(const Array& out, const CompactMatrix& w, const Array& indices)> widen_rows;

// What stands in the slots: src/fast/install.cpp, or nothing at all (none.cpp), as the program is linked.
struct Installed {
    void* (*acquire)(std::size_t& bytes);  // memory of at least so many bytes, and how many there are
    void (*release)(void* block, std::size_t bytes) noexcept;
    decltype(kernels::run_tasks)::Type* run_tasks;
    decltype(kernels::for_runs)::Type* for_runs;
    decltype(kernels::fill_dropout)::Type* fill_dropout;
    decltype(kernels::exp)::Type *exp, *log, *sigmoid;
    decltype(kernels::matmul)::Type* matmul;
    decltype(kernels::masked_matmul)::Type* masked_matmul;
    decltype(kernels::widen_rows)::Type* widen_rows;
    decltype(kernels::sum)::Type* sum;
    decltype(kernels::softmax)::Type *softmax, *log_softmax;
    decltype(kernels::index_select)::Type* index_select;
    decltype(kernels::index_add)::Type* index_add;
    decltype(kernels::gather)::Type* gather;
    decltype(kernels::scatter_add)::Type* scatter_add;
    int (*default_threads)();  // how many there are until set_num_threads; without it, one
    bool (
        *has_half_products)();  // whether products of bfloat16 are faster than those of float32; without it, no
};
extern const Installed installed;

// A contiguous copy in storage of its own, converted to `dtype`; and x itself if it is contiguous, else a copy.
Array copy_of(const Array& x, DType dtype);
inline Array copy_of(const Array& x) {
    return is_quantized(x.dtype) ? (void(bytes_at(x)), x) : copy_of(x, x.dtype);  // blocks never change
}
Array contiguous(const Array& x);

// A new array of one value. Refuses what make_array does, naming `operation`.
Array filled(const Shape& shape, double value, DType dtype, const char* operation = "full");

// ShapeError for a size that BLAS's 32-bit integers cannot hold.
void check_gemm_sizes(const char* operation, std::int64_t m, std::int64_t n, std::int64_t k);

bool all(const Array& x);  // bool
// The first position, in row-major order, of an element of x that copy cannot convert: NaN or what is out of
// range to int64, a number to bfloat16 or float16 that would become infinite; and of an index outside low …
// high − 1 that is not `allowed`. −1 if there is none.
std::int64_t first_beyond(const Array& x, DType to);
std::int64_t first_outside(const Array& indices, std::int64_t low, std::int64_t high,
                           std::optional<std::int64_t> allowed = {});

}  // namespace weft::kernels
