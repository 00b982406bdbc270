// For users of xtensor: a Tensor from any xtensor expression, and a Tensor's values as an xtensor adaptor. This
// is the only public header that includes xtensor, and weft/weft.h does not include it. Link xtensor yourself,
// because Weft's package does not require it.
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

#include "weft/core/creation.h"

namespace weft {

// Evaluates an xtensor expression into a new tensor of its shape. float, double and bool keep their type,
// integers become int64. ShapeError above eight axes; DTypeError for an integer that int64 does not hold.
//
//     const xt::xarray<double> a = {{1, 2, 3}, {4, 5, 6}};
//     const Tensor x = from_xtensor(xt::transpose(a) * 2.0);  // (3, 2)
//     auto adaptor = as_xtensor<double>(x);
//     adaptor(0, 1) = 7;  // x.at({0, 1}) is 7
template <class E>
Tensor from_xtensor(const xt::xexpression<E>& expression) {
    using Value = std::decay_t<typename E::value_type>;
    using T = std::conditional_t<std::is_floating_point_v<Value>, Value,
                                 std::conditional_t<std::is_same_v<Value, bool>, bool, std::int64_t>>;
    const E& e = expression.derived_cast();
    std::vector<std::int64_t> shape(e.shape().begin(), e.shape().end());
    const Tensor result = empty(Shape(shape), dtype_of<T>());
    T* output = result.template data<T>();
    for (auto it = e.template cbegin<xt::layout_type::row_major>();
         it != e.template cend<xt::layout_type::row_major>(); ++it)
        if constexpr (std::is_same_v<T, std::int64_t>)
            *output++ = Nested(*it).to_int64();
        else
            *output++ = static_cast<T>(*it);
    return result;
}

// The tensor's own memory as an xtensor adaptor of its shape and strides. Nothing is copied; the adaptor is
// valid as long as the tensor's storage exists. version() does not notice writes through it. DTypeError unless
// T is the tensor's type.
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
