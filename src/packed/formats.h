// Weights in fewer bits than they are computed in.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/kernels.h"
#include "weft/base/half.h"

namespace weft::kernels {

// Whether blocks are written, and not only read. Then a matrix of float32 whose rows divide into them can
// become blocks, unless one has a NaN, an infinity or a scale that float16 does not hold: the first element of
// the first such block, or −1.
bool is_written(DType format);
std::int64_t first_unpackable(const Array& w, DType format);
Array pack(const Array& w, DType format);

// The type that fast products read of one: bfloat16 of float32 under set_float32_matmul_precision("medium"),
// else the type itself.
DType operand_type(DType type);

// f(Format{}) for the one of these structs, the first of DType's blocks in their order, that belongs to
// `format`; nothing for one beyond them.
template <class... Formats, class Function>
void visit_block(DType format, const Function& f) {
    int i = static_cast<int>(DType::Q8_0);
    (void)((static_cast<int>(format) == i++ && (f(Formats{}), true)) || ...);
}

namespace reference {

// The formats in which GGUF files hold weights: blocks of 32 or 256 weights, each a few bits wide, with a scale
// that they share. A format is one struct:
//     name, length    "Q8_0", and the number of weights in a block
//     bytes           of a block, in the file and in memory
//     widen           block → its `length` weights in float32
// and, where Weft writes the format,
//     fits            whether pack may be called: the weights are finite, and so are the scales rounded to
//     halves pack            `length` weights → block, by the formulas of ggml's reference quantisation
// The bits are those of Python's package gguf (tests/golden/make_packed_golden.py).
//
// The drawings show a byte with its highest bit on the left. A scale is a half (float16), its low byte first.

// ---- halves: a sign, 5 bits of exponent (bias 15), 10 bits of fraction

// Exact: float32 has every value of a half.
inline float half_to_float(std::uint16_t bits) { return half::from_float16(bits); }
// The nearest half; of two that are equally near, the one whose last bit is 0. From 65520 on, it is ∞.
inline std::uint16_t float_to_half(float x) { return half::float16_bits(x); }

inline float read_half(const std::byte* from) {
    const auto low = std::to_integer<unsigned>(from[0]), high = std::to_integer<unsigned>(from[1]);
    return half_to_float(static_cast<std::uint16_t>(low | high << 8));
}

inline void write_half(float x, std::byte* to) {
    const std::uint16_t half = float_to_half(x);
    to[0] = static_cast<std::byte>(half & 0xff);
    to[1] = static_cast<std::byte>(half >> 8);
}

// ---- what the formats share

// `count` bits of a byte from bit `first` on, bit 0 being the lowest.
inline int bits(std::byte byte, int first, int count) {
    return std::to_integer<int>(byte) >> first & ((1 << count) - 1);
}

// Weight i of 32 in 16 bytes: weights 0 to 15 have the low halves of the bytes, weights 16 to 31 the high ones.
inline int nibble(const std::byte* q, int i) { return bits(q[i % 16], i / 16 * 4, 4); }

// Weight i of 32 in 5 bits: the fifth ones lie apart, in the 4 bytes of `fifth`, in order.
inline int five_bits(const std::byte* fifth, const std::byte* q, int i) {
    return nibble(q, i) | bits(fifth[i / 8], i % 8, 1) << 4;
}

// A number of few bits times a scale: widen makes these products exact in float32, because a half has 11 bits
// and float32 has 24. So a compiler that fuses a product with the sum after it changes no bit of widen.
inline float times(float scale, int q) { return scale * static_cast<float>(q); }

// a·b where the product isn't exact and a sum follows. `volatile` keeps the two from being fused, which would
// round once instead of twice and now and then choose the neighbouring q.
inline float rounded_product(float a, float b) {
    const volatile float product = a * b;
    return product;
}

// 1/d for pack, or 0 where that is ∞. The half of such a d is 0, so any q would do.
inline float reciprocal(float d) { return std::abs(d) > 0x1p-128f ? 1 / d : 0; }

inline bool finite(const float* in, int length) {
    return std::all_of(in, in + length, [](float x) { return std::isfinite(x); });
}

inline bool half_is_finite(float x) { return std::abs(x) < 65520; }

// The first of those weights that are farthest from 0.
inline float farthest(const float* in, int length) {
    return *std::max_element(in, in + length, [](float a, float b) { return std::abs(a) < std::abs(b); });
}

// ---- blocks of 32

// w = d·q, q = −128 … 127. 8.5 bits a weight.
//
//     byte         7 6 5 4 3 2 1 0
//     0, 1         d d d d d d d d
//     2 + i        q q q q q q q q    weight i = 0 … 31, in two's complement
//
// Packed: d = max |w| / 127, q = w/d rounded to the nearest integer, halves away from 0.
struct Q8_0 {
    static constexpr const char* name = "Q8_0";
    static constexpr int length = 32, bytes = 2 + 32;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block);
        for (int i = 0; i < length; ++i) out[i] = times(d, static_cast<std::int8_t>(block[2 + i]));
    }

    static float scale(const float* in) { return std::abs(farthest(in, length)) / 127; }
    static bool fits(const float* in) { return finite(in, length) && half_is_finite(scale(in)); }

    static void pack(const float* in, std::byte* block) {
        const float d = scale(in), inverse = reciprocal(d);
        write_half(d, block);
        for (int i = 0; i < length; ++i)
            block[2 + i] = static_cast<std::byte>(static_cast<int>(std::round(in[i] * inverse)));
    }
};

// w = d·(q − 8), q = 0 … 15. 4.5 bits a weight.
//
//     byte         7 6 5 4 3 2 1 0
//     0, 1         d d d d d d d d
//     2 + i        Q Q Q Q q q q q    q of weight i = 0 … 15, and Q of weight i + 16
//
// Packed: d = −w/8 for the w farthest from 0, so that this w has q = 0; the others have the nearest q, and
// those beyond 7.5·d on the other side have 15, the last.
struct Q4_0 {
    static constexpr const char* name = "Q4_0";
    static constexpr int length = 32, bytes = 2 + 16;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block);
        for (int i = 0; i < length; ++i) out[i] = times(d, nibble(block + 2, i) - 8);
    }

    static float scale(const float* in) { return farthest(in, length) / -8; }
    static bool fits(const float* in) { return finite(in, length) && half_is_finite(scale(in)); }

    static void pack(const float* in, std::byte* block) {
        const float d = scale(in), inverse = reciprocal(d);
        const auto q = [&](int i) {
            return std::min(15, static_cast<int>(rounded_product(in[i], inverse) + 8.5f));
        };
        write_half(d, block);
        for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<std::byte>(q(i) | q(i + 16) << 4);
    }
};

// w = d·q + m, q = 0 … 15. 5 bits a weight.
//
//     byte         7 6 5 4 3 2 1 0
//     0, 1         d d d d d d d d
//     2, 3         m m m m m m m m
//     4 + i        Q Q Q Q q q q q    q of weight i = 0 … 15, and Q of weight i + 16
//
// Packed: m = min w, d = (max w − m)/15, and the nearest q.
struct Q4_1 {
    static constexpr const char* name = "Q4_1";
    static constexpr int length = 32, bytes = 2 + 2 + 16;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block), m = read_half(block + 2);
        for (int i = 0; i < length; ++i) out[i] = times(d, nibble(block + 4, i)) + m;
    }

    static float smallest(const float* in) { return *std::min_element(in, in + length); }
    static float scale(const float* in) { return (*std::max_element(in, in + length) - smallest(in)) / 15; }
    static bool fits(const float* in) {
        return finite(in, length) && half_is_finite(scale(in)) && half_is_finite(smallest(in));
    }

    static void pack(const float* in, std::byte* block) {
        const float m = smallest(in), d = scale(in), inverse = reciprocal(d);
        const auto q = [&](int i) {
            return std::min(15, static_cast<int>(rounded_product(in[i] - m, inverse) + 0.5f));
        };
        write_half(d, block);
        write_half(m, block + 2);
        for (int i = 0; i < 16; ++i) block[4 + i] = static_cast<std::byte>(q(i) | q(i + 16) << 4);
    }
};

// w = d·(q − 16), q = 0 … 31. 5.5 bits a weight.
//
//     byte         7 6 5 4 3 2 1 0
//     0, 1         d d d d d d d d
//     2 + k        h h h h h h h h    k = 0 … 3: bit b is the highest bit (16) of q of weight 8·k + b
//     6 + i        Q Q Q Q q q q q    the others, of weight i = 0 … 15 and of weight i + 16
struct Q5_0 {
    static constexpr const char* name = "Q5_0";
    static constexpr int length = 32, bytes = 2 + 4 + 16;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block);
        for (int i = 0; i < length; ++i) out[i] = times(d, five_bits(block + 2, block + 6, i) - 16);
    }
};

// w = d·q + m, q = 0 … 31. 6 bits a weight.
//
//     byte         7 6 5 4 3 2 1 0
//     0, 1         d d d d d d d d
//     2, 3         m m m m m m m m
//     4 + k        h h h h h h h h    k = 0 … 3: bit b is the highest bit (16) of q of weight 8·k + b
//     8 + i        Q Q Q Q q q q q    the others, of weight i = 0 … 15 and of weight i + 16
struct Q5_1 {
    static constexpr const char* name = "Q5_1";
    static constexpr int length = 32, bytes = 2 + 2 + 4 + 16;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block), m = read_half(block + 2);
        for (int i = 0; i < length; ++i) out[i] = times(d, five_bits(block + 4, block + 8, i)) + m;
    }
};

// ---- blocks of 256: 8 groups of 32 (16 of 16 in Q6_K), each with scales of its own in a few bits

// The scales s and minima m of the 8 groups of Q4_K and Q5_K, 6 bits each, in 12 bytes. Of groups 0 to 3 the
// bits lie together; those of groups 4 to 7 are where there was room: k = 0 … 3,
//
//     byte         7 6 5 4 3 2 1 0
//     k            S S s s s s s s    s of group k;  S: bits 5 and 4 of group k + 4
//     4 + k        M M m m m m m m    m of group k;  M: bits 5 and 4 of group k + 4
//     8 + k        M M M M S S S S    bits 3 to 0 of m and of s of group k + 4
struct GroupScale {
    int s, m;  // 0 … 63

    static GroupScale of(int group, const std::byte* scales) {
        if (group < 4) return {bits(scales[group], 0, 6), bits(scales[4 + group], 0, 6)};
        const int k = group - 4;
        return {bits(scales[k], 6, 2) << 4 | bits(scales[8 + k], 0, 4),
                bits(scales[4 + k], 6, 2) << 4 | bits(scales[8 + k], 4, 4)};
    }
};

// w = (d·s)·q − e·m, q = 0 … 15, with s and m of the weight's group of 32. 4.5 bits a weight.
//
//     byte            7 6 5 4 3 2 1 0
//     0, 1            d d d d d d d d
//     2, 3            e e e e e e e e
//     4 … 15          s and m of 8 groups: GroupScale
//     16 + 32·p + j   Q Q Q Q q q q q    p = 0 … 3: q of weight j = 0 … 31 of group 2·p, and Q of group 2·p + 1
struct Q4_K {
    static constexpr const char* name = "Q4_K";
    static constexpr int length = 256, bytes = 2 + 2 + 12 + 128;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block), e = read_half(block + 2);
        for (int i = 0; i < length; ++i) {
            const int group = i / 32, j = i % 32;
            const auto [s, m] = GroupScale::of(group, block + 4);
            const int q = bits(block[16 + group / 2 * 32 + j], group % 2 * 4, 4);
            out[i] = times(times(d, s), q) - times(e, m);  // 11 + 6 + 4 bits: exact up to the difference
        }
    }
};

// w = (d·s)·q − e·m, q = 0 … 31, with s and m of the weight's group of 32. 5.5 bits a weight.
//
//     byte            7 6 5 4 3 2 1 0
//     0, 1            d d d d d d d d
//     2, 3            e e e e e e e e
//     4 … 15          s and m of 8 groups: GroupScale
//     16 + j          h h h h h h h h    j = 0 … 31: bit g is the highest bit (16) of q of weight j of group g
//     48 + 32·p + j   Q Q Q Q q q q q    p = 0 … 3: the others, of weight j of group 2·p and of group 2·p + 1
struct Q5_K {
    static constexpr const char* name = "Q5_K";
    static constexpr int length = 256, bytes = 2 + 2 + 12 + 32 + 128;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block), e = read_half(block + 2);
        for (int i = 0; i < length; ++i) {
            const int group = i / 32, j = i % 32;
            const auto [s, m] = GroupScale::of(group, block + 4);
            const int q = bits(block[48 + group / 2 * 32 + j], group % 2 * 4, 4) | bits(block[16 + j], group, 1)
                                                                                       << 4;
            out[i] = times(times(d, s), q) - times(e, m);  // 11 + 6 + 5 bits: exact up to the difference
        }
    }
};

// w = (d·s)·(q − 32), q = 0 … 63, with s = −128 … 127 of the weight's group of 16. 6.5625 bits a weight.
//
// Each half h = 0, 1 of the block has four quarters of 32 weights, 0 to 3; with j = 0 … 31,
//
//     byte               7 6 5 4 3 2 1 0
//     64·h + j           C C C C A A A A    bits 3 to 0 of weight j of quarters 0 (A) and 2 (C)
//     64·h + 32 + j      D D D D B B B B    bits 3 to 0 of weight j of quarters 1 (B) and 3 (D)
//     128 + 32·h + j     D D C C B B A A    bits 5 and 4 of the same four weights
//     192 + g            s s s s s s s s    group g = 0 … 15, in two's complement
//     208, 209           d d d d d d d d
//
// The products are multiplied in this order: d·(s·(q − 32)) would lose the sign of a zero.
struct Q6_K {
    static constexpr const char* name = "Q6_K";
    static constexpr int length = 256, bytes = 128 + 64 + 16 + 2;

    static void widen(const std::byte* block, float* out) {
        const float d = read_half(block + 208);
        for (int i = 0; i < length; ++i) {
            const int h = i / 128, quarter = i / 32 % 4, j = i % 32;
            const int s = static_cast<std::int8_t>(block[192 + i / 16]);
            const int q = bits(block[64 * h + quarter % 2 * 32 + j], quarter / 2 * 4, 4) |
                          bits(block[128 + 32 * h + j], quarter * 2, 2) << 4;
            out[i] = times(times(d, s), q - 32);  // 11 + 7 + 5 bits: exact
        }
    }
};

}  // namespace reference
}  // namespace weft::kernels
