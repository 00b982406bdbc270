// What the operations share.
#pragma once

#include <string>

#include "core/array.h"
#include "core/formula.h"
#include "core/kernels.h"
#include "core/node.h"
#include "weft/core/arithmetic.h"
#include "weft/core/attention.h"
#include "weft/core/creation.h"
#include "weft/core/indexing.h"
#include "weft/core/mask.h"
#include "weft/core/modes.h"
#include "weft/core/op.h"
#include "weft/core/products.h"
#include "weft/core/record.h"
#include "weft/core/reductions.h"

namespace weft {

// What is refused here, as everywhere in this room, has the name of the operation that runs.
inline int normalize_axis(int axis, int rank) { return normalize_axis(axis, rank, Op::name()); }
inline Shape broadcast_shapes(const Shape& a, const Shape& b) { return broadcast_shapes(a, b, Op::name()); }
inline void check_computes(DType dtype) { check_computes(Op::name(), dtype); }

inline void check_floating(const Tensor& x) {
    check_computes(x.dtype());
    if (!takes_gradient(x.dtype()))
        throw DTypeError(Op::name(), ": takes float32 or float64, not ", name(x.dtype()),
                         "; convert it with to()");
}

inline void check_arithmetic(const Tensor& x) {
    if (x.dtype() == boolean)
        throw DTypeError(Op::name(), ": bool has no arithmetic; use && || !, or convert with to()");
}

inline void check_dtype(const char* what, const Tensor& x, DType wanted) {
    if (x.dtype() != wanted)
        throw DTypeError(Op::name(), ": ", what, " must be ", name(wanted), ", not ", name(x.dtype()),
                         "; convert it with to()");
}

inline void check_same_dtype(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype()) throw_unmixable(Op::name(), a, b);
}

// Whether a gradient of x may be asked for, or its tangent.
inline bool may_need_gradient(const Tensor& x) { return x.requires_grad() || has_tangent(x); }

// x itself, or in float32 if its type only stores.
inline Tensor widened(const Tensor& x) {
    if (is_quantized(x.dtype())) refuse_blocks(x.dtype());
    const DType wide = computed_in(x.dtype());
    return wide == x.dtype() ? x : x.to(wide);
}

// Whether a and b have one type, in which they are computed.
inline bool are_one_type(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && !only_stores(a.dtype());
}

// f(a, b) of operands in one type: that of one of them, or float32 for those that only store.
template <class F>
Tensor in_one_type(const Tensor& a, const Tensor& b, const F& f) {
    for (const DType type : {computed_in(a.dtype()), computed_in(b.dtype())})
        if (promotes(a.dtype(), type) && promotes(b.dtype(), type))
            return f(promoted(Op::name(), a, type), promoted(Op::name(), b, type));
    throw_unmixable(Op::name(), a, b);
}

// Element i of a contiguous array, which << prints.
inline Tensor element_of(const Array& x, std::int64_t i) { return Tensor(x).reshape({-1})[i]; }

// The rows at ids (R,), which are in range, of a matrix (n, k) that stores, as float32 (R, k).
Tensor rows_at(const Tensor& weight, const Tensor& ids);

// 1 / (1 − p) for elements that are kept, else 0 (kernels::fill_dropout).
Tensor dropout_mask(const Shape& shape, DType dtype, const kernels::Dropout& dropout);

// dy = da b + a db for y = a b, a product of the first two tensors that were saved; dx is da and db.
template <class Product>
Tensor product_rule(const Product& product, const Saved& saved, const Grads& dx) {
    const Tensor da_b = dx[0].defined() ? product(dx[0], saved[1]) : Tensor(),
                 a_db = dx[1].defined() ? product(saved[0], dx[1]) : Tensor();
    return !da_b.defined() ? a_db : !a_db.defined() ? da_b : da_b + a_db;
}

// As record, under the name of the operation that runs.
inline Tensor record(Tensor y, const std::vector<Tensor>& inputs, const std::vector<Tensor>& save_for_backward,
                     Vjp vjp, Jvp jvp = nullptr) {
    return record(Op::name(), std::move(y), inputs, save_for_backward, std::move(vjp), std::move(jvp));
}
inline Tensor record_symmetric(Tensor y, const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& save_for_backward, Vjp vjp) {
    return record_symmetric(Op::name(), std::move(y), inputs, save_for_backward, std::move(vjp));
}

// The axes that a reduction of x names (all if none is named), and the shapes that it leads to.
struct ReducedAxes {
    std::vector<bool> axes;     // which axes are reduced
    Shape kept, dropped;        // x's shape with reduced axes of size 1, and without them
    std::int64_t elements = 1;  // that each result is made from

    ReducedAxes(const Tensor& x, const Axes& names)
        : axes(static_cast<std::size_t>(x.rank()), names.axes.empty()), kept(x.shape()) {
        for (int axis : names.axes) {
            auto reduced = axes.begin() + normalize_axis(axis, x.rank(), Op::name());
            if (*reduced) throw IndexError(Op::name(), ": axis ", axis, " is named twice; name each axis once");
            *reduced = true;
        }
        for (int i = 0; i < x.rank(); ++i)
            if (axes[static_cast<std::size_t>(i)])
                elements *= kept[i], kept[i] = 1;
            else
                dropped.push_back(kept[i]);
    }
    const Shape& shape(KeepDim keepdim) const { return keepdim ? kept : dropped; }
};

// Σx over axes, as a tensor of `shape`.
Tensor sum_over(const Tensor& x, const std::vector<bool>& axes, const Shape& shape);

// The end of a message about an index that is out of range for an axis of size n.
inline std::string valid_indices(std::int64_t n) {
    return n == 0 ? ", which is empty" : "; use " + std::to_string(-n) + " to " + std::to_string(n - 1);
}

// A scalar of x's type, for arithmetic with plain numbers. DTypeError, naming `operation`, unless the type
// holds the number exactly.
inline Tensor scalar_like(const Tensor& x, double value) {
    check_representable(Op::name(), value, x.dtype());
    return full({}, value, x.dtype());
}

// The same for arithmetic with x, in the type in which that is.
inline Tensor scalar_beside(const Tensor& x, double value) {
    const DType type = computed_in(x.dtype());
    check_representable(Op::name(), value, type);
    return full({}, value, type);
}

// A scalar of int64, exactly.
inline Tensor integer(std::int64_t n) { return from_vector(std::vector{n}, {}); }

// The result of an operation that has nothing to do: x itself, except that under NoGrad no result is in the
// graph.
inline Tensor unchanged(const Tensor& x) {
    return is_grad_enabled() || (!x.requires_grad() && x.impl().tangents.empty()) ? x : x.detach();
}

// Marks the rows along `axis` (which gets size 1) where y is not finite and dy is 0; undefined if all of y is
// finite. Such a row has a gradient of 0, but 0 · NaN would spread NaN to whatever the rows share.
inline Tensor rows_without_gradient(const Tensor& y, const Tensor& dy, int axis) {
    const NoGrad off;
    if (all(isfinite(y))) return {};
    return sum(y * 0.0, axis, keepdim) != 0 && sum((dy != 0).to(int64), axis, keepdim) == 0;
}

// Refuses all but predictions (…, V) of V classes and targets (…), each of them a class or ignore_index. `what`
// is what the operation calls the predictions.
void check_classes(const char* what, const Tensor& x, const Tensor& targets, std::int64_t ignore_index);

// The indices, contiguous and within 0 … n − 1: negative ones count from the end.
Tensor normalized(const Tensor& indices, std::int64_t n);

// ShapeError unless index has x's rank and, except along the axis, sizes no larger than x's.
void check_fits(const Shape& index, const Shape& x, int axis);

// Elementwise operations, each stated as a formula: a function that makes an xtensor expression of its
// operands. It takes them by reference and gives no part of the expression a name, because an expression refers
// to its operands. Its constants have the operands' type, or xtensor has no
// vector code for it. No result is in the graph yet.

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
