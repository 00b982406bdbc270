#include "core/kernels.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/modes.h"

namespace weft {

namespace kernels {

Array copy_of(const Array& x, DType dtype) {
    Array made = make_array(x.shape, dtype);
    copy(made, x);
    return made;
}

Array contiguous(const Array& x) { return x.is_contiguous() ? x : copy_of(x); }

Array filled(const Shape& shape, double value, DType dtype, const char* operation) {
    Array x = make_array(shape, dtype, operation);
    fill(x, value);
    return x;
}

void check_gemm_sizes(const char* operation, std::int64_t m, std::int64_t n, std::int64_t k) {
    for (std::int64_t size : {m, n, k})
        if (size > INT_MAX)
            throw ShapeError(operation, ": a size of ", size, " in (", m, ", ", k, ") @ (", k, ", ", n,
                             ") is more than BLAS can count (", INT_MAX, "); cut the product into slices");
}

bool all(const Array& x) {
    const Array dense = contiguous(x);
    const bool* data = dense.data<bool>();
    return std::all_of(data, data + dense.numel(), [](bool v) { return v; });
}

std::int64_t first_beyond(const Array& x, DType to) {
    const bool narrows = is_floating_point(to) ? only_stores(to) : to == int64 && is_floating_point(x.dtype);
    if (!narrows || to == x.dtype || x.dtype == boolean) return -1;
    const Array dense = contiguous(x);
    return visit_any(x.dtype, [&]<class T>(T) {
        const T *begin = dense.data<T>(), *end = begin + dense.numel();
        const T* found = std::find_if(begin, end, [to, limit = end_of(to).infinite](T v) {
            const auto value = static_cast<double>(v);
            return to == int64 ? !(value >= -0x1p63 && value < 0x1p63)
                               : std::abs(value) >= limit && std::abs(value) < INFINITY;
        });
        return found == end ? -1 : found - begin;
    });
}

std::int64_t first_outside(const Array& indices, std::int64_t low, std::int64_t high,
                           std::optional<std::int64_t> allowed) {
    const std::int64_t* index = indices.data<std::int64_t>();
    for (std::int64_t i = 0; i < indices.numel(); ++i)
        if ((index[i] < low || index[i] >= high) && index[i] != allowed) return i;
    return -1;
}

}  // namespace kernels

namespace {
std::atomic<int> chosen_threads{0};  // 0: the default
}  // namespace

void set_num_threads(int n) {
    if (n < 1 || n > kernels::max_threads)
        throw ValueError("set_num_threads: ", n, " threads; use 1 to ", kernels::max_threads);
    chosen_threads = n;
}

int get_num_threads() {
    static const int by_default = kernels::installed.default_threads ? kernels::installed.default_threads() : 1;
    return chosen_threads > 0 ? chosen_threads.load() : by_default;
}

void parallel_for(std::int64_t n, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& f) {
    if (n < 0 || grain < 1)
        throw ValueError("parallel_for: n ", n, " and grain ", grain, "; use at least 0 and 1");
    kernels::parallel_blocks(n, grain, f);
}

namespace kernels {

constinit decltype(kernels::run_tasks) run_tasks{[](const Loop& loop) {
                                                     for (std::int64_t i = 0; i < loop.tasks; ++i)
                                                         loop.task(loop.context, i);
                                                 },
                                                 installed.run_tasks};

}  // namespace kernels
}  // namespace weft
