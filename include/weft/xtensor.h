// For users of xtensor: a Tensor from any xtensor expression, and a Tensor's values as an xtensor adaptor. The
// only public header that includes xtensor; weft/weft.h does not include it. Link xtensor yourself: Weft's
// package does not ask for it.
#pragma once

#include <type_traits>
#include <vector>

#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/core/xeval.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xeval.hpp>
#endif

#include "weft/core/tensor.h"

namespace weft {

// A new tensor with the values and shape of an xtensor expression, which is evaluated here. float and double
// keep their type, integers become int64, bool stays bool. ShapeError above eight axes.
template <class E>
Tensor from_xtensor(const xt::xexpression<E>& expression) {
    using Value = std::decay_t<typename E::value_type>;
    using T = std::conditional_t<std::is_floating_point_v<Value>, Value,
                                 std::conditional_t<std::is_same_v<Value, bool>, bool, std::int64_t>>;
    const E& e = expression.derived_cast();
    std::vector<std::int64_t> shape(e.shape().begin(), e.shape().end());
    const Tensor result = empty(Shape(shape), dtype_of<T>());
    T* to = result.template data<T>();
    for (auto it = e.template cbegin<xt::layout_type::row_major>();
         it != e.template cend<xt::layout_type::row_major>(); ++it)
        *to++ = static_cast<T>(*it);
    return result;
}

// The tensor's own memory as an xtensor adaptor of its shape and strides: nothing is copied, and the adaptor is
// valid as long as the tensor's storage is. Writing through it is not seen by version(). DTypeError when T is
// not the tensor's type.
template <class T>
auto as_xtensor(const Tensor& x) {
    T* const data = x.data<T>();
    const std::vector<std::size_t> shape(x.shape().begin(), x.shape().end());
    std::vector<std::ptrdiff_t> strides;
    for (int axis = 0; axis < x.rank(); ++axis)
        strides.push_back(x.shape()[axis] == 1 ? 0 : x.strides()[axis]);  // xtensor's own convention
    return xt::adapt(data, static_cast<std::size_t>(x.numel()), xt::no_ownership(), shape, strides);
}

}  // namespace weft
