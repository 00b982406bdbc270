// The plain reading of GGUF's block formats against Python's package gguf, bit for bit, and what packing loses.
#include "packed/formats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "catch.h"
#include "places.h"
#include "weft/io.h"
#include "weft/weft.h"

using namespace weft;
using namespace weft::kernels::reference;

namespace {

// One array of an archive in tests/golden.
Tensor array_of(const std::string& archive, const std::string& wanted) {
    for (const auto& [name, array] : io::load_npz(places::golden() + "/" + archive))
        if (name == wanted) return array;
    throw Error("no array " + wanted + " in " + archive);
}

template <class Format>
Tensor golden(const std::string& array) {
    return array_of("packed_formats.npz", Format::name + ("/" + array));
}

std::vector<std::byte> as_bytes(const Tensor& integers) {
    std::vector<std::byte> bytes;
    for (const std::int64_t value : integers.to_vector<std::int64_t>())
        bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// The same bits; NaN counts as one value.
bool same(float a, float b) { return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b)); }

// Calls f with one of each format.
template <class F>
void for_each_format(const F& f) {
    std::apply([&](auto... format) { (f(format), ...); },
               std::tuple<Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K>());
}

template <class F>
void for_each_packed_format(const F& f) {
    std::apply([&](auto... format) { (f(format), ...); }, std::tuple<Q8_0, Q4_0, Q4_1>());
}

using Row = std::array<float, 32>;

template <class Format>
std::array<std::byte, Format::bytes> packed(const Row& row) {
    std::array<std::byte, Format::bytes> block;
    Format::pack(row.data(), block.data());
    return block;
}

template <class Format>
Row widened(const std::array<std::byte, Format::bytes>& block) {
    Row row;
    Format::widen(block.data(), row.data());
    return row;
}

}  // namespace

TEST_CASE("a half becomes the float32 of its value, and that float32 the half again", "[kernels][packed]") {
    const auto values = array_of("io/float16.npz", "float32").to_vector<float>();  // NumPy's, of every half
    REQUIRE(values.size() == 65536);
    for (std::uint32_t i = 0; i < 65536; ++i) {
        const auto half = static_cast<std::uint16_t>(i);
        INFO("half " << i);
        if (!same(half_to_float(half), values[i])) FAIL_CHECK(half_to_float(half) << ", not " << values[i]);
        const std::uint16_t back = float_to_half(values[i]);
        if (std::isnan(values[i]) ? !std::isnan(half_to_float(back)) || (back ^ half) >> 15 != 0 : back != half)
            FAIL_CHECK(values[i] << " became half " << back);
    }
}

TEST_CASE("float32 rounds to the nearest half, and a tie to the even one", "[kernels][packed]") {
    for (std::uint32_t i = 0; i < 0x7c00; ++i) {
        const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
        const float upper =
            high == 0x7c00 ? 65536.0f : half_to_float(high);  // beyond the largest: as if it went on
        const float middle = (half_to_float(low) + upper) / 2;
        INFO("between halves " << low << " and " << high);
        const std::uint16_t even = i % 2 == 0 ? low : high;
        if (float_to_half(middle) != even || float_to_half(std::nextafter(middle, 0.0f)) != low ||
            float_to_half(std::nextafter(middle, INFINITY)) != high ||
            float_to_half(-middle) != (even | 0x8000))
            FAIL_CHECK(middle << " became half " << float_to_half(middle));
    }
    CHECK(float_to_half(3e38f) == 0x7c00);
    CHECK(float_to_half(-INFINITY) == 0xfc00);
    CHECK(float_to_half(1e-45f) == 0);
}

TEST_CASE("blocks widen to the bits of Python's gguf, whatever their scales", "[kernels][packed][golden]") {
    for_each_format([]<class Format>(Format) {
        const auto blocks = as_bytes(golden<Format>("blocks"));
        const auto expected = golden<Format>("weights").template to_vector<float>();
        const std::size_t count = blocks.size() / Format::bytes, length = Format::length;
        REQUIRE(count >= 30);
        REQUIRE(blocks.size() == count * Format::bytes);
        REQUIRE(expected.size() == count * length);
        std::vector<float> found(length);
        for (std::size_t block = 0; block < count; ++block) {
            Format::widen(&blocks[block * Format::bytes], found.data());
            for (std::size_t i = 0; i < length; ++i)
                if (!same(found[i], expected[block * length + i])) {
                    FAIL_CHECK(Format::name << ", block " << block << ", weight " << i << ": " << found[i]
                                            << ", not " << expected[block * length + i]);
                    return;
                }
        }
    });
}

TEST_CASE("rows are packed to the bytes of Python's gguf", "[kernels][packed][golden]") {
    for_each_packed_format([]<class Format>(Format) {
        const auto rows = golden<Format>("rows").template to_vector<float>();
        const auto expected = as_bytes(golden<Format>("packed"));
        const std::size_t count = rows.size() / Format::length;
        REQUIRE(count >= 70);
        REQUIRE(expected.size() == count * Format::bytes);
        std::array<std::byte, Format::bytes> block;
        for (std::size_t row = 0; row < count; ++row) {
            CHECK(Format::fits(&rows[row * Format::length]));
            Format::pack(&rows[row * Format::length], block.data());
            for (std::size_t i = 0; i < block.size(); ++i)
                if (block[i] != expected[row * Format::bytes + i]) {
                    FAIL_CHECK(Format::name << ", row " << row << ", byte " << i << ": "
                                            << std::to_integer<int>(block[i]) << ", not "
                                            << std::to_integer<int>(expected[row * Format::bytes + i]));
                    return;
                }
        }
    });
}

TEST_CASE("rows too small for a half become zeros", "[kernels][packed]") {
    for (const float size : {1e-8f, 0x1p-126f, 0x1p-128f, 1e-40f, 1e-45f}) {
        Row row{}, zeros{};
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = i % 3 == 0 ? -size : size;
        row[7] = 0;
        for_each_packed_format([&]<class Format>(Format) {
            INFO(Format::name << ", " << size);
            CHECK(Format::fits(row.data()));
            const auto block = packed<Format>(row), none = packed<Format>(zeros);
            for (const float w : widened<Format>(block)) CHECK(w == 0);
            // where 1/d is infinite, no weight is multiplied by it: after the scales, the bytes are those of
            // zeros
            if (size <= 0x1p-128f) CHECK(std::equal(block.begin() + 4, block.end(), none.begin() + 4));
        });
    }
}

TEST_CASE("a row fits a format if it is finite and its scales are finite halves", "[kernels][packed]") {
    const auto of = [](float first, float others) {
        Row row;
        row.fill(others);
        row[0] = first;
        return row;
    };
    for_each_packed_format([&]<class Format>(Format) {
        INFO(Format::name);
        for (std::size_t i = 0; i < 32; ++i)
            for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
                Row row = of(1, 2);
                CHECK(Format::fits(row.data()));
                row[i] = bad;
                CHECK_FALSE(Format::fits(row.data()));
            }
        CHECK_FALSE(Format::fits(of(3e38f, -3e38f).data()));
    });
    // 65519 rounds to the largest half, 65520 to ∞; the scales of these rows are just those
    CHECK(Q8_0::fits(of(-127 * 65519.0f, 0).data()));
    CHECK_FALSE(Q8_0::fits(of(-127 * 65520.0f, 0).data()));
    CHECK(Q4_0::fits(of(8 * 65519.0f, 0).data()));
    CHECK_FALSE(Q4_0::fits(of(8 * 65520.0f, 0).data()));
    CHECK(Q4_1::fits(of(15 * 65519.0f, 0).data()));
    CHECK_FALSE(Q4_1::fits(of(15 * 65520.0f, 0).data()));
    CHECK(Q4_1::fits(of(-65519, -65519).data()));
    CHECK_FALSE(Q4_1::fits(of(-65520, 0).data()));
}
