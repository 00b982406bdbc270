#include <algorithm>
#include <cmath>

#include "kernels/fast/dropout.h"
#include "kernels/fast/strided.h"
#include "tensor/philox.h"
#include "weft/tensor/random.h"

namespace weft::kernels::fast {

template <class T>
void dropout_factors(const Dropout& dropout, std::int64_t e, std::int64_t n, T* factors) {
    const auto limit = static_cast<std::uint32_t>(dropout.p * 0x1p32);
    const T scale = static_cast<T>(1 / (1 - dropout.p));
    std::uint64_t counter = dropout.first + static_cast<std::uint64_t>(e) / 4;
    constexpr int lanes = 32;
    std::uint32_t words[4 * lanes];
    for (std::int64_t skipped = e % 4; n > 0; skipped = 0, counter += lanes) {
        philox_lanes<lanes>(dropout.seed, counter, words);
        const std::int64_t here = std::min(n, 4 * lanes - skipped);
        for (std::int64_t i = 0; i < here; ++i) factors[i] = words[skipped + i] >= limit ? scale : T(0);
        factors += here;
        n -= here;
    }
}

template void dropout_factors(const Dropout&, std::int64_t, std::int64_t, float*);
template void dropout_factors(const Dropout&, std::int64_t, std::int64_t, double*);

namespace {

// out_i = f(i) over a contiguous array.
template <class T, class F>
void generate(const Array& out, const F& f) {
    T* y = out.data<T>();
    parallel_for(out.numel(), 1, parallel_grain,
                 [&](std::int64_t i) { y[i] = static_cast<T>(f(static_cast<std::uint64_t>(i))); });
}

void fill(const Array& out, double value) {
    visit_any(out.dtype, [&]<class T>(T) {
        const T v = static_cast<T>(value);  // bool: whether it is not 0
        for_runs_of<T>([v](std::int64_t n, T* y) { std::fill(y, y + n, v); }, out);
    });
}

void copy(const Array& out, const Array& x) {
    visit_any(out.dtype, [&]<class To>(To) {
        visit_any(x.dtype, [&]<class From>(From) {
            for_runs_of<To, From>(
                [](std::int64_t n, To* y, const From* a) {
                    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(a[i]);
                },
                out, x);
        });
    });
}

void fill_uniform(const Array& out, std::uint64_t seed, std::uint64_t first) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) {  // rounded to float, it must not reach 1
            const T u = static_cast<T>(uniform_at(seed, first + i));
            return u < T(1) ? u : std::nextafter(T(1), T(0));
        });
    });
}

void fill_normal(const Array& out, std::uint64_t seed, std::uint64_t first) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) { return normal_at(seed, first + i); });
    });
}

void fill_randint(const Array& out, std::uint64_t seed, std::uint64_t first, std::int64_t low,
                  std::int64_t high) {
    generate<std::int64_t>(out, [=](std::uint64_t i) { return randint_at(seed, first + i, low, high); });
}

void fill_range(const Array& out, double start, double step) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) { return start + step * static_cast<double>(i); });
    });
}

void fill_integers(const Array& out, std::int64_t start, std::int64_t step) {
    generate<std::uint64_t>(
        out, [first = static_cast<std::uint64_t>(start),
              by = static_cast<std::uint64_t>(step)](std::uint64_t i) { return first + by * i; });
}

void fill_dropout(const Array& out, const Dropout& dropout) {
    visit_floating(out.dtype, [&]<class T>(T) {
        parallel_blocks(out.numel(), parallel_grain, [&](std::int64_t begin, std::int64_t end) {
            dropout_factors(dropout, begin, end - begin, out.data<T>() + begin);
        });
    });
}

}  // namespace

extern const Filling filling_table{fill,         copy,        fill_range,   fill_integers,
                                   fill_uniform, fill_normal, fill_randint, fill_dropout};

}  // namespace weft::kernels::fast
