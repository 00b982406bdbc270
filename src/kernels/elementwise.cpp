#include "kernels/elementwise.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "kernels/rows.h"
#include "kernels/runs.h"
#include "weft/tensor/random.h"

namespace weft::kernels {
namespace {

// out_i = f(i) over a contiguous array.
template <class T, class F>
void generate(const Array& out, const F& f) {
    T* y = out.data<T>();
    parallel_for(out.numel(), 1, parallel_grain,
                 [&](std::int64_t i) { y[i] = static_cast<T>(f(static_cast<std::uint64_t>(i))); });
}

// A plain number, which T holds exactly, in the arithmetic of visit_wrapping, where int64 is unsigned.
template <class T>
T number(double value) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::int64_t>(value));
    else
        return static_cast<T>(value);
}

}  // namespace

void add(const Array& out, const Array& a, const Array& b) {
    visit_wrapping(out.dtype, [&]<class T>(T) { evaluate<T, T, T>(out, std::plus<>(), a, b); });
}

void axpy(const Array& out, double alpha, const Array& x) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        const T f = number<T>(alpha);
        evaluate<T, T, T>(
            out, [f](const auto& y, const auto& x) { return y + f * x; }, out, x);
    });
}

void multiply(const Array& out, const Array& a, const Array& b) {
    visit_wrapping(out.dtype, [&]<class T>(T) { evaluate<T, T, T>(out, std::multiplies<>(), a, b); });
}

void scale(const Array& out, const Array& x, double factor) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        const T f = number<T>(factor);
        evaluate<T, T>(
            out, [f](const auto& x) { return f * x; }, x);
    });
}

void where(const Array& out, const Array& condition, const Array& a, const Array& b) {
    visit_any(out.dtype, [&]<class T>(T) {
        for_runs_of<T, bool, T, T>(
            out,
            [](std::int64_t n, T* y, const bool* c, const T* p, const T* q) {
                // Bytes, and both values read: otherwise the compiler makes branches instead of vectors.
                const auto* chosen = reinterpret_cast<const unsigned char*>(c);
                for (std::int64_t i = 0; i < n; ++i) {
                    const T yes = p[i], no = q[i];
                    y[i] = chosen[i] != 0 ? yes : no;
                }
            },
            condition, a, b);
    });
}

// xsimd's eˣ is inf a little before the type's end, and 0 where the result is denormal; there it is (e^(x/2))².
void exp(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        constexpr bool narrow = std::is_same_v<T, float>;
        const auto f = [low = B(narrow ? T(-87) : T(-708)), high = B(narrow ? T(88) : T(709))](const B& x) {
            const B e = xsimd::exp(x);
            const auto near_end = x < low || x > high;
            if (!xsimd::any(near_end)) return e;
            const B root = xsimd::exp(x * B(T(0.5)));
            return xsimd::select(near_end, root * root, e);
        };
        for_runs_of<T, T>(
            out, [&](std::int64_t n, T* y, const T* p) { simd_run(n, y, f, p); }, x);
    });
}

// xsimd's logarithm takes a denormal float64 for a larger number, so it gets x·2⁵⁴.
void log(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        const auto f = [](const B& x) {
            const B y = xsimd::log(x);
            const auto small = x < B(std::numeric_limits<T>::min());
            if (std::is_same_v<T, float> || !xsimd::any(small)) return y;
            return xsimd::select(small, xsimd::log(x * B(T(0x1p54))) - B(T(54 * std::numbers::ln2)), y);
        };
        for_runs_of<T, T>(
            out, [&](std::int64_t n, T* y, const T* p) { simd_run(n, y, f, p); }, x);
    });
}

void gelu_tanh_backward(const Array& dx, const Array& x, const Array& dy) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        constexpr T factor = T(gelu_factor);
        const auto rule = [](const B& x, const B& dy) {
            // Beyond ±50 g is exactly 0 or 1, and x³ might overflow.
            const B t = xsimd::min(B(T(50)), xsimd::max(B(T(-50)), x));
            const B g = B(T(1)) / (B(T(1)) + xsimd::exp(B(-factor) * (t + B(T(0.044715)) * t * t * t)));
            const B du = B(factor) * (B(T(1)) + B(T(3 * 0.044715)) * t * t);
            return dy * (g + x * g * (B(T(1)) - g) * du);
        };
        for_runs_of<T, T, T>(
            dx, [&](std::int64_t n, T* d, const T* p, const T* q) { simd_run(n, d, rule, p, q); }, x, dy);
    });
}

void fill(const Array& out, double value) {
    visit_any(out.dtype, [&]<class T>(T) {
        const T v = static_cast<T>(value);  // bool: whether it is not 0
        for_runs_of<T>(out, [v](std::int64_t n, T* y) { std::fill(y, y + n, v); });
    });
}

void copy(const Array& out, const Array& x) {
    visit_any(out.dtype, [&]<class To>(To) {
        visit_any(x.dtype, [&]<class From>(From) {
            for_runs_of<To, From>(
                out,
                [](std::int64_t n, To* y, const From* a) {
                    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(a[i]);
                },
                x);
        });
    });
}

std::int64_t first_beyond_int64(const Array& x) {
    const Array dense = contiguous(x);
    return visit_floating(x.dtype, [&]<class T>(T) {
        const T *begin = dense.data<T>(), *end = begin + dense.numel();
        const T* found = std::find_if(begin, end, [](T v) { return !(v >= T(-0x1p63) && v < T(0x1p63)); });
        return found == end ? -1 : found - begin;
    });
}

Array contiguous(const Array& x) {
    if (x.is_contiguous()) return x;
    Array y = make_array(x.shape, x.dtype);
    copy(y, x);
    return y;
}

bool all(const Array& x) {
    const Array dense = contiguous(x);
    const bool* data = dense.data<bool>();
    return std::all_of(data, data + dense.numel(), [](bool v) { return v; });
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

}  // namespace weft::kernels
