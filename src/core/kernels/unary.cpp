#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/elementwise.h"
#include "core/kernels/gelu.h"
#include "core/kernels/map.h"

namespace weft::kernels {
namespace {

// Maps a scalar function, one element at a time; for those that xsimd does not have, or not with IEEE's special
// values.
template <class T, class F>
void each(const Array& out, const Array& x, const F& f) {
    map<T, T>(
        [&](std::int64_t n, T* y, const T* a) {
            for (std::int64_t i = 0; i < n; ++i) y[i] = f(a[i]);
        },
        out, as<T>(x));
}

template <class T, class F>
void simd(const Array& out, const Array& x, const F& f) {
    map<T, T>([&](std::int64_t n, T* y, const T* a) { simd_run(n, y, f, a); }, out, as<T>(x));
}

}  // namespace

void unary(Unary op, const Array& out, const Array& x) {
    if (op == Unary::negate && x.dtype == int64) {
        using T = std::int64_t;  // in unsigned arithmetic: the smallest value negates to itself
        return each<T>(out, x, [](T v) { return static_cast<T>(-static_cast<std::uint64_t>(v)); });
    }
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        using B = xsimd::batch<T>;
        switch (op) {
            case Unary::negate:
                return simd<T>(out, x, [](B v) { return -v; });
            case Unary::exp:
                return simd<T>(out, x, [](B v) { return xsimd::exp(v); });
            case Unary::log:
                return simd<T>(out, x, [](B v) {  // xsimd's log of inf is NaN
                    const B infinite(std::numeric_limits<T>::infinity());
                    return xsimd::select(v == infinite, v, xsimd::log(v));
                });
            case Unary::sqrt:
                return simd<T>(out, x, [](B v) { return xsimd::sqrt(v); });
            case Unary::tanh:
                return simd<T>(out, x, [](B v) { return xsimd::tanh(v); });
            case Unary::sigmoid:
                return simd<T>(out, x, [](B v) {  // e^(−|x|) never overflows
                    const B e = xsimd::exp(-xsimd::abs(v));
                    return xsimd::select(v >= B(T(0)), B(T(1)), e) / (B(T(1)) + e);
                });
            case Unary::relu:
                return simd<T>(out, x, [](B v) { return xsimd::select(v <= B(T(0)), B(T(0)), v); });
            case Unary::abs:
                return simd<T>(out, x, [](B v) { return xsimd::abs(v); });
            case Unary::sign:
                return each<T>(out, x, [](T v) { return std::isnan(v) ? v : T((v > 0) - (v < 0)); });
            case Unary::sin:
                return each<T>(out, x, [](T v) { return std::sin(v); });
            case Unary::cos:
                return each<T>(out, x, [](T v) { return std::cos(v); });
            case Unary::erf:
                return each<T>(out, x, [](T v) { return std::erf(v); });
            case Unary::gelu_exact:
                return each<T>(
                    out, x, [](T v) { return v * T(0.5) * (T(1) + std::erf(v * T(std::numbers::sqrt2 / 2))); });
            case Unary::gelu_tanh:
                return simd<T>(out, x, [](B v) { return v * gelu_gate<T>(v); });
        }
    });
}

void clamp(const Array& out, const Array& x, double low, double high) {
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        each<T>(out, x, [=](T v) { return v < T(low) ? T(low) : v > T(high) ? T(high) : v; });
    });
}

void scale(const Array& out, const Array& x, double factor) {
    visit_wrapping(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        each<T>(out, x, [f = number<T>(factor)](T v) { return f * v; });
    });
}

void isfinite(const Array& out, const Array& x) {
    visit_floating(x.dtype, [&](auto zero) {
        using T = decltype(zero);
        map<bool, T>(
            [](std::int64_t n, bool* y, const T* a) {
                for (std::int64_t i = 0; i < n; ++i) y[i] = std::isfinite(a[i]);
            },
            out, as<T>(x));
    });
}

}  // namespace weft::kernels
