// How a formula, a function that makes an xtensor expression of its operands, is computed element by element.
#pragma once

#include <array>
#include <tuple>

#include "tensor/xtensor.h"

namespace weft::kernels {

// n consecutive elements as an xtensor expression.
template <class T>
auto adapt(const T* x, std::int64_t n) {
    const auto size = static_cast<std::size_t>(n);
    return xt::adapt(x, size, xt::no_ownership(), std::array<std::size_t, 1>{size});
}

// Marks a formula that is evaluated one element at a time, with the functions of std:
//     by_element([](const auto& x) { return xt::sin(x); })
// So are quotients and square roots, which the compiler makes vectors of: on arm64 xsimd's are approximations
// of floats.
template <class F>
struct ByElement {
    F f;
    auto operator()(const auto&... x) const { return f(x...); }
};
template <class F>
ByElement<F> by_element(F f) {
    return {f};
}

// A plain number, which T holds exactly, in the arithmetic of visit_wrapping, where int64 is unsigned.
template <class T>
T number(double value) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::int64_t>(value));
    else
        return static_cast<T>(value);
}

// y = f(x…) for n consecutive elements, one after the other. (The operands have names because the expression
// refers to them.)
template <class T, class F, class... X>
void element_run(std::int64_t n, T* y, const F& formula, const X*... x) {
    const std::tuple operands(adapt(x, n)...);
    const auto e = std::apply(formula, operands);
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(e.data_element(static_cast<std::size_t>(i)));
}

}  // namespace weft::kernels
