// The only private header that includes xtensor, whose headers moved between versions.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>

#include "core/kernels.h"
#include "weft/core/random.h"

#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/core/xmath.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#endif

namespace weft::kernels {

// How a formula, a function that makes an xtensor expression of its operands, is computed element by element.

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

// The same, of whole vectors where xtensor has vector code for all of the expression; the last one is padded
// with zeros. A view gets the bits of its copy, because every element passes through the same code.
template <class T, class F, class... X>
void vector_run(std::int64_t n, T* y, const F& f, const X*... x) {
    const std::tuple operands(adapt(x, n)...);
    const auto e = std::apply(f, operands);
    if constexpr ((std::is_same_v<X, T> && ...) &&
                  xt::has_simd_interface<std::decay_t<decltype(e)>, T>::value) {
        constexpr auto width = static_cast<std::int64_t>(xt_simd::simd_traits<T>::size);
        std::int64_t i = 0;
        const auto vector_at = [](const auto& e, std::int64_t i) {  // elements i, i + 1, … as one vector
            return e.template load_simd<xt_simd::unaligned_mode, T>(static_cast<std::size_t>(i));
        };
        for (; i + width <= n; i += width) vector_at(e, i).store_unaligned(y + i);
        if (i == n) return;
        T last[width], buffers[sizeof...(X)][width] = {};
        auto padded = [&, next = buffers](const T* from) mutable -> const T* {
            std::copy(from + i, from + n, *next);
            return *next++;
        };
        vector_run(width, last, f, padded(x)...);
        std::copy(last, last + (n - i), y + i);
    } else {
        element_run(n, y, f, x...);
    }
}
template <class T, class F, class... X>
void vector_run(std::int64_t n, T* y, const ByElement<F>& f, const X*... x) {
    element_run(n, y, f, x...);
}

// A formula over arrays, element by element: every elementwise operation is one.

// for_runs with a function f(n, y, x…) on elements of the types Y and X…. (A plain function and a context, so
// that the loop over runs is compiled once; conditional_t<true, Array, X> is Array, once for each X.)
template <class Y, class... X, class F>
void for_runs_of(const F& f, const Array& out, const std::conditional_t<true, Array, X>&... in) {
    const RunBody body = [](const void* f, std::int64_t n, void* y, [[maybe_unused]] const void* const* x) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (*static_cast<const F*>(f))(n, static_cast<Y*>(y), static_cast<const X*>(x[I])...);
        }
        (std::index_sequence_for<X...>{});
    };
    for_runs(out, {&in...}, body, &f);
}

// out = f(x…), where f makes an xtensor expression of its operands, or is marked by_element: of whole vectors,
// or where for_runs is plain of one element after the other.
template <class Y, class... X, class F>
void apply(const F& f, const Array& out, const std::conditional_t<true, Array, X>&... in) {
    if (for_runs.is_plain())
        for_runs_of<Y, X...>([&f](std::int64_t n, Y* y, const X*... x) { element_run(n, y, f, x...); }, out,
                             in...);
    else
        for_runs_of<Y, X...>([&f](std::int64_t n, Y* y, const X*... x) { vector_run(n, y, f, x...); }, out,
                             in...);
}

}  // namespace weft::kernels

namespace weft::kernels::reference {

// The elements of strided arrays, one at a time.

// Element (i, j, …) of x.
template <class T, class... Index>
T& at(const Array& x, Index... index) {
    std::int64_t offset = 0;
    [[maybe_unused]] int axis = 0;  // without an index
    ((offset += index * x.strides[axis++]), ...);
    return x.data<T>()[offset];
}

// Its value, to compute with.
template <class T, class... Index>
double value(const Array& x, Index... index) {
    return static_cast<double>(at<T>(x, index...));
}

// Element i of x in row-major order, and how far it lies from the first.
inline std::int64_t offset_of(const Array& x, std::int64_t i) {
    std::int64_t offset = 0;
    for (int axis = x.rank() - 1; axis >= 0; i /= x.shape[axis--])
        offset += i % x.shape[axis] * x.strides[axis];
    return offset;
}
template <class T>
T& element(const Array& x, std::int64_t i) {
    return x.data<T>()[offset_of(x, i)];
}

// What sums and products are accumulated in: double for floating elements.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// f(start, T{}) for the start of each row along the axis of a contiguous x, whose elements are l.inner apart.
template <class F>
void for_lines(const Array& x, const Layout& l, const F& f) {
    visit_wrapping(x.dtype, [&]<class T>(T) {
        for_items(l.outer * l.inner, l.n, 1 << 13,
                  [&](std::int64_t row) { f(row / l.inner * l.n * l.inner + row % l.inner, T{}); });
    });
}

// A contiguous x (…, C) as (R, C).
inline Array rows_of(const Array& x) {
    const std::int64_t C = x.shape.back(), R = C == 0 ? 0 : x.numel() / C;
    return view_of(x, {R, C}, {C, 1}, x.offset);
}

// What element e of a tensor is multiplied with in dropout (fill_dropout).
inline double dropout_factor(const Dropout& dropout, std::uint64_t e) {
    const std::uint32_t word = philox(dropout.seed, dropout.first + e / 4)[e % 4];
    return word >= static_cast<std::uint32_t>(dropout.p * 0x1p32) ? 1 / (1 - dropout.p) : 0;
}

}  // namespace weft::kernels::reference
