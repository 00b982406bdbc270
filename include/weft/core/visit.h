// Internal: Choices by type, among some of the types.
#pragma once

#include "weft/core/dtype.h"
#include "weft/core/error.h"

namespace weft {

// f(S{}) for a type whose elements `Among` takes: f is compiled for those alone, and DTypeError for another,
// which the caller should have refused.
template <template <class> class Among, class F>
auto visit_among(DType dtype, F&& f) -> decltype(f(float{})) {
    return visit(dtype, [&]<class S, class C>(Element<S, C>) -> decltype(f(float{})) {
        if constexpr (Among<S>::value)
            return f(S{});
        else
            throw DTypeError("visit: ", name(dtype),
                             " is none of the types that are computed here; convert it with to()");
    });
}

// Whether a type is a number of C++, and so is computed in as it is stored.
template <class S>
using IsNumber = std::conjunction<std::is_arithmetic<S>, std::negation<std::is_same<S, bool>>>;

template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
    return visit_among<std::is_floating_point>(dtype, f);
}
// All but bfloat16 and float16.
template <class F>
decltype(auto) visit_computed(DType dtype, F&& f) {
    return visit_among<std::is_arithmetic>(dtype, f);
}
template <class F>
decltype(auto) visit_numeric(DType dtype, F&& f) {
    return visit_among<IsNumber>(dtype, f);
}
// For sums and products: int64 is computed in unsigned numbers, which wrap on overflow, as in NumPy.
template <class F>
decltype(auto) visit_wrapping(DType dtype, F&& f) {
    return visit_numeric(dtype, [&]<class T>(T) {
        if constexpr (std::is_integral_v<T>)
            return f(std::make_unsigned_t<T>{});
        else
            return f(T{});
    });
}
template <class F>
decltype(auto) visit_any(DType dtype, F&& f) {
    return visit(dtype, [&]<class S, class C>(Element<S, C>) { return f(S{}); });
}

}  // namespace weft
