// Elementwise operations, each stated as a formula: a function that makes an xtensor expression of its
// operands. It takes them by reference and gives no part of the expression a name, because an expression refers
// to its operands. Its constants have the operands' type, or xtensor has no
// vector code for it. No result is in the graph yet.
#pragma once

#include "core/common.h"
#include "core/formula.h"

namespace weft {

using kernels::by_element;

// The type of an operand's elements, for constants: Value<decltype(x)>(0.5).
template <class X>
using Value = typename std::decay_t<X>::value_type;

// f(operands…) as a tensor of `dtype`. Operands broadcast; their elements are read as X and written as Y.
// (conditional_t<true, Tensor, X> is Tensor, once for each X.)
template <class Y, class... X, class F>
Tensor formula(DType dtype, const F& f, const std::conditional_t<true, Tensor, X>&... operands) {
    Shape shape;
    ((shape = broadcast_shapes(shape, operands.shape())), ...);
    Array y = make_array(shape, dtype);
    kernels::apply<Y, X...>(f, y, broadcast_view(operands.array(), shape)...);
    return Tensor(std::move(y));
}

// y = f(x). DTypeError unless x is floating.
template <class F>
Tensor elementwise(const Tensor& x, const F& f) {
    check_floating(x);
    return visit_floating(x.dtype(), [&]<class T>(T) { return formula<T, T>(x.dtype(), f, x); });
}

// y = f(a, b) in the wider of their types. DTypeError unless it is floating.
template <class F>
Tensor elementwise(const Tensor& a, const Tensor& b, const F& f) {
    if (!are_one_type(a, b))
        return in_one_type(a, b, [&](const Tensor& x, const Tensor& y) { return elementwise(x, y, f); });
    check_arithmetic(a);
    check_floating(a);
    return visit_floating(a.dtype(), [&]<class T>(T) { return formula<T, T, T>(a.dtype(), f, a, b); });
}

// y = f(a, b), also of int64, which wraps on overflow, as in NumPy. DTypeError on two of bool.
template <class F>
Tensor arithmetic(const Tensor& a, const Tensor& b, const F& f) {
    if (!are_one_type(a, b))
        return in_one_type(a, b, [&](const Tensor& x, const Tensor& y) { return arithmetic(x, y, f); });
    check_arithmetic(a);
    return visit_wrapping(a.dtype(), [&]<class T>(T) { return formula<T, T, T>(a.dtype(), f, a, b); });
}

}  // namespace weft
