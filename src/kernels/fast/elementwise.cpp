#include <functional>
#include <limits>

#include "kernels/fast/simd.h"
#include "kernels/fast/strided.h"
#include "kernels/interface.h"

namespace weft::kernels::fast {
namespace {

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

// xsimd's eˣ is inf a little before the type's end, and 0 where the result is denormal; there it is (e^(x/2))².
template <class T>
xsimd::batch<T> exp_of(const xsimd::batch<T>& x) {
    using B = xsimd::batch<T>;
    constexpr bool narrow = std::is_same_v<T, float>;
    const B e = xsimd::exp(x);
    const auto near_end = x < B(narrow ? T(-87) : T(-708)) || x > B(narrow ? T(88) : T(709));
    if (!xsimd::any(near_end)) return e;
    const B root = xsimd::exp(x * B(T(0.5)));
    return xsimd::select(near_end, root * root, e);
}

void exp(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        const auto f = [](const xsimd::batch<T>& x) { return exp_of<T>(x); };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
    });
}

void sigmoid(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&]<class T>(T) {
        using B = xsimd::batch<T>;
        const auto f = [](const B& x) {
            const B e = exp_of<T>(-xsimd::abs(x));  // never overflows
            return xsimd::select(x >= B(T(0)), B(T(1)), e) / (B(T(1)) + e);
        };
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
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
        for_runs_of<T, T>([&](std::int64_t n, T* y, const T* p) { simd_run(f, n, y, p); }, out, x);
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
        for_runs_of<T, T, T>([&](std::int64_t n, T* d, const T* p, const T* q) { simd_run(rule, n, d, p, q); },
                             dx, x, dy);
    });
}

}  // namespace

extern const Elementwise elementwise_table{add, axpy,    multiply,          scale, where, exp,
                                           log, sigmoid, gelu_tanh_backward};

}  // namespace weft::kernels::fast
