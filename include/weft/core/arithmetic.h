// Sums, products and quotients of elements, and choices between them.
#pragma once

#include <optional>

#include "weft/core/tensor.h"

namespace weft {

// a + b, a − b, a · b, a / b and −x, elementwise. Of two types the operand of the smaller takes the larger one,
// in the order bool, int64, floating, here and in pow, maximum, where and the comparisons; bfloat16 and float16
// become float32, or float64 beside it. DTypeError for float32 beside float64, for an int64 that the floating
// type would round, for two of bool, and for int64 / int64.
//
//     const Tensor x = tensor({{1.0, 3}, {2, 6}});
//     const Tensor total = sum(x, 1, keepdim);  // (2, 1): [[4], [8]]
//     const Tensor share = x / total;           // (2, 2) / (2, 1) → (2, 2): [[0.25, 0.75], [0.25, 0.75]]
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& x);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
template <class T>
Tensor operator^(const Tensor&, const T&) = delete;  // write pow(x, 2)
template <class T>
Tensor operator%(const Tensor&, const T&) = delete;  // write x - b * floor(x / b), in float32 or float64

// condition ? a : b, elementwise; all three broadcast. Two of one type keep it, bfloat16 and float16 too.
// DTypeError unless condition is bool.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// x, with `value` and gradient 0 where mask (bool) is true, whatever x holds there. ShapeError unless mask
// broadcasts to x; DTypeError unless x's type holds `value`.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
// where with plain numbers, of the other tensor's type: where(mask, -1e9, scores). float32 if both are numbers.
Tensor where(const Tensor& condition, double a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, double b);

// Functions of each element of one tensor. They take float32 and float64 unless they say otherwise.

Tensor exp(const Tensor& x);      // eˣ; inf from 88.73 (float32) or 709.79 (float64) on
Tensor log(const Tensor& x);      // ln x; gradient at 0 is inf
Tensor sqrt(const Tensor& x);     // √x; gradient at 0 is inf
Tensor tanh(const Tensor& x);     // (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ), without overflow
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e⁻ˣ), without overflow
Tensor relu(const Tensor& x);     // max(x, 0); gradient at 0 is 0
Tensor abs(const Tensor& x);      // |x|, also of int64; gradient at 0 is 0
Tensor sign(const Tensor& x);     // −1, 0 or 1, NaN of NaN; gradient 0

// Comparisons and logic: bool, without a gradient.

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
