// A formula over arrays, element by element: every elementwise operation is one (core/elementwise.h).
#pragma once

#include "core/expression.h"
#include "core/kernels.h"

namespace weft::kernels {

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
