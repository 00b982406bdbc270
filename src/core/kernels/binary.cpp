#include <cmath>
#include <functional>
#include <numbers>

#include "core/kernels/elementwise.h"
#include "core/kernels/gelu.h"
#include "core/kernels/map.h"

namespace weft::kernels {
namespace {

template <class Out, class T, class F>
void each(const Array& out, const Array& a, const Array& b, const F& f) {
    map<Out, T, T>(
        [&](std::int64_t n, Out* y, const T* p, const T* q) {
            for (std::int64_t i = 0; i < n; ++i) y[i] = f(p[i], q[i]);
        },
        out, as<T>(a), as<T>(b));
}

template <class T, class F>
void simd(const Array& out, const Array& a, const Array& b, const F& f) {
    map<T, T, T>([&](std::int64_t n, T* y, const T* p, const T* q) { simd_run(n, y, f, p, q); }, out, as<T>(a),
                 as<T>(b));
}

void binary_int64(Binary op, const Array& out, const Array& a, const Array& b) {
    using T = std::int64_t;
    using U = std::uint64_t;  // overflow wraps, as NumPy's
    switch (op) {
        case Binary::add:
            return each<T, T>(out, a, b, [](T p, T q) { return static_cast<T>(U(p) + U(q)); });
        case Binary::subtract:
            return each<T, T>(out, a, b, [](T p, T q) { return static_cast<T>(U(p) - U(q)); });
        case Binary::multiply:
            return each<T, T>(out, a, b, [](T p, T q) { return static_cast<T>(U(p) * U(q)); });
        case Binary::maximum:
            return each<T, T>(out, a, b, [](T p, T q) { return std::max(p, q); });
        case Binary::minimum:
            return each<T, T>(out, a, b, [](T p, T q) { return std::min(p, q); });
        default:
            throw DTypeError("binary: this operation does not take int64");
    }
}

}  // namespace

void binary(Binary op, const Array& out, const Array& a, const Array& b) {
    if (out.dtype == int64) return binary_int64(op, out, a, b);
    visit_floating(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        using B = xsimd::batch<T>;
        switch (op) {
            case Binary::add:
                return simd<T>(out, a, b, [](B p, B q) { return p + q; });
            case Binary::subtract:
                return simd<T>(out, a, b, [](B p, B q) { return p - q; });
            case Binary::multiply:
                return simd<T>(out, a, b, [](B p, B q) { return p * q; });
            case Binary::divide:
                return simd<T>(out, a, b, [](B p, B q) { return p / q; });
            case Binary::power:
                return each<T, T>(out, a, b, [](T p, T q) { return std::pow(p, q); });
            case Binary::maximum:
                return each<T, T>(out, a, b, [](T p, T q) { return p > q || std::isnan(p) ? p : q; });
            case Binary::minimum:
                return each<T, T>(out, a, b, [](T p, T q) { return p < q || std::isnan(p) ? p : q; });
            case Binary::gelu_exact_backward:  // y = x·Φ(x):  dx = dy · (Φ(x) + x·φ(x))
                return each<T, T>(out, a, b, [](T x, T dy) {
                    const T cdf = T(0.5) * (T(1) + std::erf(x * T(std::numbers::sqrt2 / 2)));
                    return dy * (cdf + x * T(std::numbers::inv_sqrtpi / std::numbers::sqrt2) *
                                           std::exp(T(-0.5) * x * x));
                });
            case Binary::gelu_tanh_backward:  // y = x·g(x), g = σ(2u):  dx = dy · (g + x·g·(1 − g)·2u′)
                return simd<T>(out, a, b, [](B x, B dy) {
                    const B g = gelu_gate<T>(x), du = B(gelu_scale<T>) * (B(T(1)) + B(T(3 * 0.044715)) * x * x);
                    return dy * (g + x * g * (B(T(1)) - g) * du);
                });
        }
    });
}

void compare(Compare op, const Array& out, const Array& a, const Array& b) {
    visit_any(a.dtype, [&](auto zero) {
        using T = decltype(zero);
        switch (op) {
            case Compare::equal:
                return each<bool, T>(out, a, b, std::equal_to<T>());
            case Compare::not_equal:
                return each<bool, T>(out, a, b, std::not_equal_to<T>());
            case Compare::less:
                return each<bool, T>(out, a, b, std::less<T>());
            case Compare::less_equal:
                return each<bool, T>(out, a, b, std::less_equal<T>());
            case Compare::greater:
                return each<bool, T>(out, a, b, std::greater<T>());
            case Compare::greater_equal:
                return each<bool, T>(out, a, b, std::greater_equal<T>());
        }
    });
}

void logic(Logic op, const Array& out, const Array& a, const Array& b) {
    switch (op) {
        case Logic::both:
            return each<bool, bool>(out, a, b, std::logical_and<bool>());
        case Logic::either:
            return each<bool, bool>(out, a, b, std::logical_or<bool>());
        case Logic::differ:
            return each<bool, bool>(out, a, b, std::not_equal_to<bool>());
    }
}

void axpy(const Array& out, double alpha, const Array& x) {
    visit_wrapping(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        each<T, T>(out, out, x, [f = number<T>(alpha)](T y, T v) { return y + f * v; });
    });
}

}  // namespace weft::kernels
