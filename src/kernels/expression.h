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
};
template <class F>
ByElement<F> by_element(F f) {
    return {f};
}
template <class F>
constexpr bool is_by_element = false;
template <class F>
constexpr bool is_by_element<ByElement<F>> = true;

// y = f(x…) for n consecutive elements, one after the other. (The operands have names because the expression
// refers to them.)
template <class T, class F, class... X>
void element_run(std::int64_t n, T* y, const ByElement<F>& formula, const X*... x) {
    const std::tuple operands(adapt(x, n)...);
    const auto e = std::apply(formula.f, operands);
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(e.data_element(static_cast<std::size_t>(i)));
}

}  // namespace weft::kernels
