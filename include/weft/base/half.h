// Numbers of 16 bits.
#pragma once

#if __cplusplus < 202002L  // not #error, after which the compiler would go on to some 75 other errors
#include "Weft needs C++20: add -std=c++20"
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft {

// Internal: How numbers are rounded to 16 bits.

namespace half {

// x as a float "rounded to odd": where bits are cut off, the last one that is left becomes 1. Rounded further,
// to fewer bits, this gives what x itself rounds to; the nearest float might be a tie where x is none.
constexpr float to_odd(double x) {
    const auto nearest = static_cast<float>(x);
    const auto bits = std::bit_cast<std::uint32_t>(nearest);
    if (static_cast<double>(nearest) == x || x != x || (bits & 1) != 0) return nearest;
    const bool is_beyond = (nearest < 0 ? -nearest : nearest) > (x < 0 ? -x : x);
    return std::bit_cast<float>(is_beyond ? bits - 1 : bits + 1);
}
constexpr float to_odd(float x) { return x; }
template <class T>
constexpr float to_odd(T x) requires(std::is_integral_v<T>) {
    auto size = static_cast<std::uint64_t>(x);
    if constexpr (std::is_signed_v<T>) size = x < 0 ? -size : size;
    if (size >> 53 != 0)
        size = (size >> 11 | ((size & 2047) != 0 ? 1 : 0)) << 11;  // to odd, which double holds
    const auto real = static_cast<double>(size);
    return to_odd(x < T(0) ? -real : real);
}

// One bit of sign, 8 of exponent and 7 of fraction: the first half of a float.
constexpr std::uint16_t bfloat16_bits(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t to_even = bits + 0x7FFF + (bits >> 16 & 1), quiet = bits | 0x400000;
    return static_cast<std::uint16_t>((x == x ? to_even : quiet) >> 16);
}
// The number that they are.
constexpr float from_bfloat16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// One bit of sign, 5 of exponent and 10 of fraction: IEEE 754 binary16.
constexpr std::uint16_t float16_bits(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;
    // A normal number: the exponent's bias is 15 instead of 127.
    std::uint32_t result = (size - (112U << 23) + 0xFFF + (size >> 13 & 1)) >> 13;
    // A number below 2⁻¹⁴ counts units of 2⁻²⁴, and so do the last bits of its sum with ½, which is rounded.
    if (size < 113U << 23)
        result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) -
                 std::bit_cast<std::uint32_t>(0.5F);
    if (size >= std::bit_cast<std::uint32_t>(65520.0F)) result = 0x7C00;  // infinite
    if (x != x) result = 0x7E00 | (size >> 13 & 0x3FF);                   // NaN, quiet
    return static_cast<std::uint16_t>(sign | result);
}
// The number that they are.
constexpr float from_float16(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16, size = bits & 0x7FFFU;
    if (size < 0x400) {
        const float units = static_cast<float>(size) * 0x1p-24F;
        return sign != 0 ? -units : units;
    }
    const std::uint32_t exponent =
        size < 0x7C00 ? 112U << 23 : 224U << 23;  // infinity and NaN keep all bits set
    const std::uint32_t quiet = size > 0x7C00 ? 0x400000 : 0;
    return std::bit_cast<float>(sign | ((size << 13) + exponent) | quiet);
}

template <class T>
concept Number = std::is_integral_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

}  // namespace half

// The two types of 16 bits in which tensors are stored. A number that becomes one of them is rounded once, to
// the nearest, ties to even, and one that is too large becomes infinite (Tensor::to refuses it). float has all
// of their values.

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
