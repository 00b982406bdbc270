// The two types of 16 bits in which tensors are stored. A number that becomes one of them is rounded once, to
// the nearest, ties to even, and one that is too large becomes infinite (Tensor::to refuses it). float has all
// of their values.
#pragma once

#if __cplusplus < 202002L  // not #error, after which the compiler would go on to some 75 other errors
#include "Weft needs C++20: add -std=c++20"
#endif

#include <cstdint>

#include "weft/core/half_bits.h"

namespace weft {

struct Float16;

// bfloat16: the range of a float, and 8 significant bits, or 2 to 3 digits. As a number it is a float.
//
//     const BFloat16 tenth(0.1);
//     const float value = static_cast<float>(tenth);  // 0.100097656
struct BFloat16 {
    std::uint16_t bits = 0;  // sign, exponent, fraction

    constexpr BFloat16() = default;  // 0
    // The nearest to x.
    template <half::Number T>
    constexpr explicit BFloat16(T x) : bits(half::bfloat16_bits(half::to_odd(x))) {}
    constexpr explicit BFloat16(Float16 x);
    // The same number in a type of C++.
    template <class T>
    constexpr explicit operator T() const requires(std::is_arithmetic_v<T>) {
        return static_cast<T>(half::from_bfloat16(bits));
    }
};

// float16: numbers to 65504 with 11 significant bits, or 3 to 4 digits; below 2⁻¹⁴ = 0.000061 fewer.
//
//     const Float16 tenth(0.1);
//     const float value = static_cast<float>(tenth);  // 0.0999755859
struct Float16 {
    std::uint16_t bits = 0;  // sign, exponent, fraction

    constexpr Float16() = default;  // 0
    // The nearest to x.
    template <half::Number T>
    constexpr explicit Float16(T x) : bits(half::float16_bits(half::to_odd(x))) {}
    constexpr explicit Float16(BFloat16 x) : Float16(static_cast<float>(x)) {}
    // The same number in a type of C++.
    template <class T>
    constexpr explicit operator T() const requires(std::is_arithmetic_v<T>) {
        return static_cast<T>(half::from_float16(bits));
    }
};

constexpr BFloat16::BFloat16(Float16 x) : BFloat16(static_cast<float>(x)) {}

// Whether two are the same number: NaN is none, and −0 is 0.
constexpr bool operator==(BFloat16 a, BFloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }
constexpr bool operator==(Float16 a, Float16 b) { return static_cast<float>(a) == static_cast<float>(b); }

}  // namespace weft
