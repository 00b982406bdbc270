// Comparisons and logic: bool, without a gradient.
#pragma once

#include "weft/core/tensor.h"

namespace weft {

// Elementwise, promoted as by operator+. A comparison with NaN is false, except !=. int64 and bool tensors are
// compared exactly with any number: arange(5) == 2.5 is false everywhere.
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, double b);
Tensor operator!=(const Tensor& a, double b);
Tensor operator<(const Tensor& a, double b);
Tensor operator<=(const Tensor& a, double b);
Tensor operator>(const Tensor& a, double b);
Tensor operator>=(const Tensor& a, double b);
// Or, and, not, elementwise; DTypeError unless bool.
Tensor operator||(const Tensor& a, const Tensor& b);
Tensor operator&&(const Tensor& a, const Tensor& b);
Tensor operator!(const Tensor& a);
template <class T>
Tensor operator&(const Tensor&, const T&) = delete;  // write a && b
template <class T>
Tensor operator|(const Tensor&, const T&) = delete;  // write a || b
Tensor operator~(const Tensor&) = delete;            // write !a
Tensor isfinite(const Tensor& x);                    // bool: neither NaN nor infinite
[[nodiscard]] bool all(const Tensor& x);  // whether every element of a bool tensor is true; true if empty
[[nodiscard]] bool any(const Tensor& x);  // whether some element of a bool tensor is true

}  // namespace weft
