// Elementwise kernels: a formula each, from one element to the next.
#include <cmath>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
namespace {

// out_i = f(x_i…), in the arithmetic of visit_wrapping: int64 is unsigned, and wraps.
template <class F, class... In>
void each(const Array& out, const F& f, const In&... in) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i) element<T>(out, i) = f(element<T>(in, i)...);
    });
}

// A plain number in that arithmetic.
template <class T>
T number(double value) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<std::int64_t>(value));
    return static_cast<T>(value);
}

void add(const Array& out, const Array& a, const Array& b) {
    each(
        out, [](auto a, auto b) { return a + b; }, a, b);
}

void axpy(const Array& out, double alpha, const Array& x) {
    each(
        out, [=](auto y, auto x) { return y + number<decltype(x)>(alpha) * x; }, out, x);
}

void multiply(const Array& out, const Array& a, const Array& b) {
    each(
        out, [](auto a, auto b) { return a * b; }, a, b);
}

void scale(const Array& out, const Array& x, double factor) {
    each(
        out, [=](auto x) { return number<decltype(x)>(factor) * x; }, x);
}

void where(const Array& out, const Array& condition, const Array& a, const Array& b) {
    visit_any(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i)
            element<T>(out, i) = element<bool>(condition, i) ? element<T>(a, i) : element<T>(b, i);
    });
}

// f(x_i…) of floating x.
template <class F, class... In>
void each_floating(const Array& out, const F& f, const In&... in) {
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i) element<T>(out, i) = f(element<T>(in, i)...);
    });
}

void exp(const Array& out, const Array& x) {
    each_floating(
        out, [](auto x) { return std::exp(x); }, x);
}

void log(const Array& out, const Array& x) {
    each_floating(
        out, [](auto x) { return std::log(x); }, x);
}

// y = x·g with g = σ(2u), u = √(2/π)(x + 0.044715 x³):  dx = dy · (g + x·g·(1 − g)·2u′)
void gelu_tanh_backward(const Array& dx, const Array& x, const Array& dy) {
    each_floating(
        dx,
        []<class T>(T x, T dy) {
            const T t =
                std::min(T(50), std::max(T(-50), x));  // beyond, g is exactly 0 or 1, and x³ might overflow
            const T two_u = T(gelu_factor) * (t + T(0.044715) * t * t * t);
            const T g = 1 / (1 + std::exp(-two_u));
            const T two_du = T(gelu_factor) * (1 + T(3 * 0.044715) * t * t);
            return dy * (g + x * g * (1 - g) * two_du);
        },
        x, dy);
}

}  // namespace

extern const Elementwise elementwise_table{add, axpy, multiply, scale, where, exp, log, gelu_tanh_backward};

}  // namespace weft::kernels::reference
