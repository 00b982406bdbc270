// Elementwise arithmetic on strided arrays that broadcast: an xtensor expression, evaluated over runs of
// consecutive elements. Other memory layouts are gathered into a small buffer first. Every element passes
// through the same vector code, so a view gives the same bits as a copy of it.
#pragma once

#include <initializer_list>
#include <tuple>

#include "kernels/expression.h"
#include "kernels/fast/sizes.h"
#include "kernels/threads/parallel.h"
#include "tensor/array.h"

namespace weft::kernels::fast {

constexpr std::size_t max_operands = 4;  // the output and three inputs

// Elements i, i + 1, … of an expression, as one vector.
template <class T, class E>
xsimd::batch<T> vector_at(const E& e, std::int64_t i) {
    return e.template load_simd<xt_simd::unaligned_mode, T>(static_cast<std::size_t>(i));
}

// y = f(x…) for n consecutive elements. If xtensor has
// vector code for the whole expression, whole vectors are computed, the last one padded with zeros. (The
// operands have names here because the expression refers to them.)
template <class T, class F, class... X>
void vector_run(std::int64_t n, T* y, const F& f, const X*... x) {
    const std::tuple operands(adapt(x, n)...);
    const auto e = std::apply(f, operands);
    if constexpr ((std::is_same_v<X, T> && ...) &&
                  xt::has_simd_interface<std::decay_t<decltype(e)>, T>::value) {
        constexpr std::int64_t width = xsimd::batch<T>::size;
        std::int64_t i = 0;
        for (; i + width <= n; i += width) vector_at<T>(e, i).store_unaligned(y + i);
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

// Calls body(context, n, y, x) for every run of `out` and `in`: n elements that start at y, and at each x[k].
// Each input has out's shape, with strides of 0 where it is broadcast. (A plain function and a context, so that
// this loop is compiled once.)
using RunBody = void (*)(const void* context, std::int64_t n, void* y, const void* const* x);
void for_runs(const Array& out, std::initializer_list<const Array*> in, RunBody body, const void* context);

// The same with a function f(n, y, x…) on elements of the types Y and X…. (conditional_t<true, Array, X> is
// Array, once for each X.)
template <class Y, class... X, class F>
void for_runs_of(const F& f, const Array& out, const std::conditional_t<true, Array, X>&... in) {
    static_assert(sizeof...(X) < max_operands);
    const RunBody body = [](const void* f, std::int64_t n, void* y, [[maybe_unused]] const void* const* x) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (*static_cast<const F*>(f))(n, static_cast<Y*>(y), static_cast<const X*>(x[I])...);
        }
        (std::index_sequence_for<X...>{});
    };
    for_runs(out, {&in...}, body, &f);
}

// out = f(x…), where f makes an xtensor expression of its operands, or is marked by_element.
template <class Y, class... X, class F>
void apply(const F& f, const Array& out, const std::conditional_t<true, Array, X>&... in) {
    for_runs_of<Y, X...>([&f](std::int64_t n, Y* y, const X*... x) { vector_run(n, y, f, x...); }, out, in...);
}

}  // namespace weft::kernels::fast
