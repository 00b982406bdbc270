// A formula over arrays, by the kernels that are active: every elementwise operation is one
// (ops/elementwise.h).
#pragma once

#include "kernels/fast/strided.h"
#include "kernels/reference/element.h"
#include "weft/kernels/reference_kernels.h"

namespace weft::kernels {

// out = f(x…), element by element. Each input has out's shape, with strides of 0 where it is broadcast; its
// elements are read as X and written as Y.
template <class Y, class... X, class F>
void apply(const F& f, const Array& out, const std::conditional_t<true, Array, X>&... in) {
    if (reference_kernels())
        reference::apply<Y, X...>(f, out, in...);
    else
        fast::apply<Y, X...>(f, out, in...);
}

}  // namespace weft::kernels
