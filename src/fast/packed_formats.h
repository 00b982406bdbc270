// How weights in half and in blocks become float32, 32 at a time, in registers. The vectors are those of GCC
// and clang, which make of each 16 floats one register of AVX-512, two of AVX2 or four of NEON. Where the
// compilers do not find the instruction that widens bytes or a half, it is named. The formulas, one weight at a
// time, are in packed/formats.h, and the bits are equal: every product q · d is exact.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#endif

// In which registers these vectors are passed depends on the flags, but no call leaves its file.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace weft::kernels::fast {

using Floats = float __attribute__((vector_size(64)));
using Ints = std::int32_t __attribute__((vector_size(64)));
using UnsignedInts = std::uint32_t __attribute__((vector_size(64)));
using Shorts = std::int16_t __attribute__((vector_size(32)));
using Halves = std::uint16_t __attribute__((vector_size(32)));
using Bytes = std::int8_t __attribute__((vector_size(16)));
using UnsignedBytes = std::uint8_t __attribute__((vector_size(16)));

// 32 weights, or 32 elements of what they are multiplied with.
struct Run {
    Floats low, high;
};
using HalfRun = std::uint16_t __attribute__((vector_size(64)));

template <class V>
V load(const void* from) {
    V v;
    std::memcpy(&v, from, sizeof(V));
    return v;
}

inline Ints widened(Bytes x) {
#if defined(__AVX512F__)
    return std::bit_cast<Ints>(_mm512_cvtepi8_epi32(std::bit_cast<__m128i>(x)));
#elif defined(__AVX2__) && defined(__F16C__)
    const auto v = std::bit_cast<__m128i>(x);
    return std::bit_cast<Ints>(std::array{_mm256_cvtepi8_epi32(v), _mm256_cvtepi8_epi32(_mm_srli_si128(v, 8))});
#else
    return __builtin_convertvector(__builtin_convertvector(x, Shorts), Ints);
#endif
}

inline Floats floats(Ints x) { return __builtin_convertvector(x, Floats); }
inline Floats floats(Bytes x) { return floats(widened(x)); }

// Halves of float16: multiplied by 2¹¹², their bits in place are the value, but ∞ and NaN keep their exponent.
inline Floats floats(Halves x) {
#if defined(__AVX512F__)
    return std::bit_cast<Floats>(_mm512_cvtph_ps(std::bit_cast<__m256i>(x)));
#else
    const Ints bits = __builtin_convertvector(x, Ints), magnitude = (bits & 0x7fff) << 13;
    const Ints finite = std::bit_cast<Ints>(std::bit_cast<Floats>(magnitude) * 0x1p112f);
    const Ints beyond = magnitude >= 0x0f800000;  // −1 where true
    return std::bit_cast<Floats>(finite | (beyond & 0x7f800000) | ((bits & 0x8000) << 16));
#endif
}

// Half `number` of the four at `from` in every lane.
template <int number = 0>
Floats spread(const std::byte* from) {
#if defined(__AVX512F__)
    const __m512 four =
        _mm512_castps128_ps512(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
    return std::bit_cast<Floats>(number == 0 ? _mm512_broadcastss_ps(_mm512_castps512_ps128(four))
                                             : _mm512_permutexvar_ps(_mm512_set1_epi32(number), four));
#else
    const auto half = load<std::uint16_t>(from + 2 * number);
#if defined(__AVX2__) && defined(__F16C__)
    return _cvtsh_ss(half) - Floats{};
#else
    return floats(half - Halves{});
#endif
#endif
}

// The low and the high four bits of 16 bytes.
struct Nibbles {
    explicit Nibbles(const std::byte* from) {
        const auto bytes = load<UnsignedBytes>(from);
        low = std::bit_cast<Bytes>(bytes & 15);
        high = std::bit_cast<Bytes>(bytes >> 4);
    }
    Bytes low, high;
};

constexpr Ints lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// weight(q) for the low and the high four bits q of 16 bytes. A register of AVX-512 holds the weights of all q,
// from which one instruction chooses 16.
template <class Weight>
Run weights_of_nibbles(const std::byte* from, const Weight& weight) {
#if defined(__AVX512F__)
    const auto all = std::bit_cast<__m512>(weight(floats(lane)));
    const __m512i q = _mm512_cvtepu8_epi32(load<__m128i>(from));
    return {std::bit_cast<Floats>(_mm512_permutexvar_ps(q, all)),
            std::bit_cast<Floats>(_mm512_permutexvar_ps(_mm512_srli_epi32(q, 4), all))};
#else
    const Nibbles q(from);
    return {weight(floats(q.low)), weight(floats(q.high))};
#endif
}

// As half::bfloat16_bits rounds: the upper half of each element is what bfloat16 has of x.
inline UnsignedInts bits_to_round(const Floats& x) {
    const auto bits = std::bit_cast<UnsignedInts>(x);
    const auto number = std::bit_cast<UnsignedInts>(Ints(x == x));  // all bits where x is no NaN
    return ((bits + 0x7fff + (bits >> 16 & 1)) & number) | ((bits | 0x400000) & ~number);
}
inline Halves to_bfloat16(const Floats& x) { return __builtin_convertvector(bits_to_round(x) >> 16, Halves); }
inline Floats rounded(const Floats& x) { return std::bit_cast<Floats>(bits_to_round(x) & 0xffff0000); }

// Each format: how many weights a block has, its bytes, and the weights 32 · part … 32 · part + 31.

struct BF16 {
    static constexpr int length = 32, bytes = 64;
    static Floats widen(Halves x) { return std::bit_cast<Floats>(__builtin_convertvector(x, Ints) << 16); }
    static Run widen(const std::byte* b, int) { return {widen(load<Halves>(b)), widen(load<Halves>(b + 32))}; }
};
struct F16 {
    static constexpr int length = 32, bytes = 64;
    static Run widen(const std::byte* b, int) {
        return {floats(load<Halves>(b)), floats(load<Halves>(b + 32))};
    }
};
struct Q8_0 {
    static constexpr int length = 32, bytes = 34;
    static Run widen(const std::byte* b, int) {
        const Floats d = spread(b);
        return {d * floats(load<Bytes>(b + 2)), d * floats(load<Bytes>(b + 18))};
    }
};
struct Q4_0 {
    static constexpr int length = 32, bytes = 18;
    static Run widen(const std::byte* b, int) {
        const Floats d = spread(b);
        return weights_of_nibbles(b + 2, [&](const Floats& q) { return d * (q - 8); });
    }
};
struct Q4_1 {
    static constexpr int length = 32, bytes = 20;
    static Run widen(const std::byte* b, int) {
        const Floats d = spread(b), m = spread<1>(b);
        return weights_of_nibbles(b + 4, [&](const Floats& q) { return d * q + m; });
    }
};

// 16 where a bit of 16 is set, else 0.
inline Ints fifth_bits(std::uint32_t bits) {
    return ((static_cast<std::int32_t>(bits & 0xffff) - Ints{}) >> lane & 1) << 4;
}

struct Q5_0 {
    static constexpr int length = 32, bytes = 22;
    static Run widen(const std::byte* b, int) {
        const Floats d = spread(b);
        const auto fifth = load<std::uint32_t>(b + 2);
        const Nibbles q(b + 6);
        return {d * floats((widened(q.low) | fifth_bits(fifth)) - 16),
                d * floats((widened(q.high) | fifth_bits(fifth >> 16)) - 16)};
    }
};
struct Q5_1 {
    static constexpr int length = 32, bytes = 24;
    static Run widen(const std::byte* b, int) {
        const Floats d = spread(b), m = spread<1>(b);
        const auto fifth = load<std::uint32_t>(b + 4);
        const Nibbles q(b + 8);
        return {d * floats(widened(q.low) | fifth_bits(fifth)) + m,
                d * floats(widened(q.high) | fifth_bits(fifth >> 16)) + m};
    }
};

// Scale and minimum of a part, as d and m times six bits: those of parts 4 … 7 have their upper two bits above
// those of parts 0 … 3.
struct PartScale {
    PartScale(const std::byte* b, int part) {
        const auto byte = [&](int i) { return std::to_integer<int>(b[4 + i]); };
        const int scale = part < 4 ? byte(part) & 63 : (byte(part + 4) & 15) | byte(part - 4) >> 6 << 4,
                  minimum = part < 4 ? byte(part + 4) & 63 : byte(part + 4) >> 4 | byte(part) >> 6 << 4;
        d = spread(b) * static_cast<float>(scale);
        m = spread<1>(b) * static_cast<float>(minimum);
    }
    Floats d, m;
};

// 16 of the nibbles that a part has, the low or the high ones of its 32 bytes.
inline Bytes nibbles(const std::byte* from, bool high) {
    const Nibbles q(from);
    return high ? q.high : q.low;
}

struct Q4_K {
    static constexpr int length = 256, bytes = 144;
    static Run widen(const std::byte* b, int part) {
        const auto [d, m] = PartScale(b, part);
        const std::byte* q = b + 16 + part / 2 * 32;
        const bool high = part % 2 == 1;
        return {d * floats(nibbles(q, high)) - m, d * floats(nibbles(q + 16, high)) - m};
    }
};
struct Q5_K {
    static constexpr int length = 256, bytes = 176;
    static Run widen(const std::byte* b, int part) {
        const auto [d, m] = PartScale(b, part);
        const std::byte *fifth = b + 16, *q = b + 48 + part / 2 * 32;
        const auto with_fifth = [&](int i) {
            const auto bit = load<UnsignedBytes>(fifth + i) >> static_cast<std::uint8_t>(part) & 1;
            return floats(nibbles(q + i, part % 2 == 1) | std::bit_cast<Bytes>(bit << 4));
        };
        return {d * with_fifth(0) - m, d * with_fifth(16) - m};
    }
};
struct Q6_K {
    static constexpr int length = 256, bytes = 210;
    // The weights 128 · half + 32 · quarter … have their low bits in one nibble of 32 bytes and their high bits
    // in two bits of 32 others.
    static Run widen(const std::byte* b, int part) {
        const int half = part / 4, quarter = part % 4;
        const std::byte *q = b + half * 64 + quarter % 2 * 32, *upper = b + 128 + half * 32,
                        *scales = b + 192 + part * 2;
        const auto sixteen = [&](int i) {
            const auto two = load<UnsignedBytes>(upper + i) >> static_cast<std::uint8_t>(2 * quarter) & 3;
            const Bytes six = nibbles(q + i, quarter >= 2) | std::bit_cast<Bytes>(two << 4);
            const Floats d =
                spread<3>(b + 202) * static_cast<float>(std::to_integer<std::int8_t>(scales[i / 16]));
            return d * floats(six - 32);
        };
        return {sixteen(0), sixteen(16)};
    }
};

}  // namespace weft::kernels::fast
