// What fills, copies and combines arrays, element by element.
#include <cmath>
#include <functional>

#include "core/formula.h"
#include "weft/core/random.h"

namespace weft::kernels {

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

namespace {

// out_i = f(i) over a contiguous array.
template <class T, class F>
void generate(const Array& out, const F& f) {
    T* y = out.data<T>();
    parallel_for(out.numel(), 1, 1 << 14,
                 [&](std::int64_t i) { y[i] = static_cast<T>(f(static_cast<std::uint64_t>(i))); });
}

}  // namespace

void fill_range(const Array& out, double start, double step) {
    visit_floating(out.dtype, [&]<class T>(T) {
        generate<T>(out, [=](std::uint64_t i) { return start + step * static_cast<double>(i); });
    });
}

void fill_integers(const Array& out, std::int64_t start, std::int64_t step) {
    const auto first = static_cast<std::uint64_t>(start), by = static_cast<std::uint64_t>(step);
    generate<std::uint64_t>(out, [=](std::uint64_t i) { return first + by * i; });
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

void add(const Array& out, const Array& a, const Array& b) {
    visit_wrapping(out.dtype, [&]<class T>(T) { apply<T, T, T>(std::plus<>(), out, a, b); });
}

void axpy(const Array& out, double alpha, const Array& x) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        const T f = number<T>(alpha);
        apply<T, T, T>([f](const auto& y, const auto& x) { return y + f * x; }, out, out, x);
    });
}

void multiply(const Array& out, const Array& a, const Array& b) {
    visit_wrapping(out.dtype, [&]<class T>(T) { apply<T, T, T>(std::multiplies<>(), out, a, b); });
}

void scale(const Array& out, const Array& x, double factor) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        const T f = number<T>(factor);
        apply<T, T>([f](const auto& x) { return f * x; }, out, x);
    });
}

void where(const Array& out, const Array& condition, const Array& a, const Array& b) {
    visit_any(out.dtype, [&]<class T>(T) {
        for_runs_of<T, bool, T, T>(
            [](std::int64_t n, T* y, const bool* c, const T* p, const T* q) {
                // Bytes, and both values read: otherwise the compiler makes branches instead of vectors.
                const auto* chosen = reinterpret_cast<const unsigned char*>(c);
                for (std::int64_t i = 0; i < n; ++i) {
                    const T yes = p[i], no = q[i];
                    y[i] = chosen[i] != 0 ? yes : no;
                }
            },
            out, condition, a, b);
    });
}

}  // namespace weft::kernels
