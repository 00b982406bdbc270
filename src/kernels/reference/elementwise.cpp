// Elementwise kernels: a formula each, from one element to the next.
#include <cmath>
#include <functional>

#include "kernels/reference/element.h"

namespace weft::kernels::reference {
namespace {

// out_i = f(x_i…), in the arithmetic of visit_wrapping: int64 is unsigned, and wraps.
template <class F, class... In>
void each(const F& f, const Array& out, const In&... in) {
    visit_wrapping(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i) element<T>(out, i) = f(element<T>(in, i)...);
    });
}

void add(const Array& out, const Array& a, const Array& b) { each(std::plus<>(), out, a, b); }
void multiply(const Array& out, const Array& a, const Array& b) { each(std::multiplies<>(), out, a, b); }

void axpy(const Array& out, double alpha, const Array& x) {
    each([=](auto y, auto x) { return y + number<decltype(x)>(alpha) * x; }, out, out, x);
}

void scale(const Array& out, const Array& x, double factor) {
    each([=](auto x) { return number<decltype(x)>(factor) * x; }, out, x);
}

void where(const Array& out, const Array& condition, const Array& a, const Array& b) {
    visit_any(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i)
            element<T>(out, i) = element<bool>(condition, i) ? element<T>(a, i) : element<T>(b, i);
    });
}

// The same as `each`, of floating elements.
template <class F, class... In>
void each_floating(const F& f, const Array& out, const In&... in) {
    visit_floating(out.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.numel(); ++i) element<T>(out, i) = f(element<T>(in, i)...);
    });
}

void exp(const Array& out, const Array& x) {
    each_floating([](auto x) { return std::exp(x); }, out, x);
}

void log(const Array& out, const Array& x) {
    each_floating([](auto x) { return std::log(x); }, out, x);
}

void sigmoid(const Array& out, const Array& x) {
    each_floating(
        []<class T>(T x) {
            const T e = std::exp(-std::abs(x));  // never overflows
            return (x >= 0 ? T(1) : e) / (1 + e);
        },
        out, x);
}

// y = x·g with g = σ(2u), u = √(2/π)(x + 0.044715 x³):  dx = dy · (g + x·g·(1 − g)·2u′)
void gelu_tanh_backward(const Array& dx, const Array& x, const Array& dy) {
    each_floating(
        []<class T>(T x, T dy) {
            const T t = std::min(T(50), std::max(T(-50), x));  // beyond, g is 0 or 1, and x³ might overflow
            const T two_u = T(gelu_factor) * (t + T(0.044715) * t * t * t);
            const T g = 1 / (1 + std::exp(-two_u));
            const T two_du = T(gelu_factor) * (1 + T(3 * 0.044715) * t * t);
            return dy * (g + x * g * (1 - g) * two_du);
        },
        dx, x, dy);
}

}  // namespace

extern const Elementwise elementwise_table{add, axpy,    multiply,          scale, where, exp,
                                           log, sigmoid, gelu_tanh_backward};

}  // namespace weft::kernels::reference
