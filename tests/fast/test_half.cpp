// bfloat16 and float16 as numbers, one at a time and in tensors: their values, rounding, and their texts,
// against PyTorch, NumPy and fractions (golden/make_half_golden.py).
#include <bit>
#include <cmath>
#include <limits>

#include "catch.h"
#include "golden/golden.h"
#include "places.h"
#include "weft/base/text.h"
#include "weft/core.h"
#include "weft/core/modes.h"
#include "weft/io/npy.h"

using namespace weft;

namespace {

template <class T>
std::vector<T> golden_array(const std::string& name) {
    static const io::NamedTensors arrays = io::load_npz(places::golden() + "/half.npz", 10'000'000);
    for (const auto& [key, x] : arrays)
        if (key == name) return x.template to_vector<T>();
    throw Error("no golden array " + name);
}

template <class Half>
Half from_bits(std::size_t bits) {
    Half x;
    x.bits = static_cast<std::uint16_t>(bits);
    return x;
}

template <class Half>
std::vector<Half> all_patterns() {
    std::vector<Half> all;
    for (std::size_t bits = 0; bits < 65536; ++bits) all.push_back(from_bits<Half>(bits));
    return all;
}

template <class Half>
bool is_nan(Half x) {
    return (x.bits & 0x7FFF) > (std::is_same_v<Half, Float16> ? 0x7C00 : 0x7F80);
}

// The number that the bits mean, by the definition of the format.
template <class Half>
double meaning(Half x) {
    constexpr int bits = std::is_same_v<Half, Float16> ? 10 : 7,
                  bias = std::is_same_v<Half, Float16> ? 15 : 127;
    const int exponent = (x.bits & 0x7FFF) >> bits, fraction = x.bits & ((1 << bits) - 1);
    const double sign = (x.bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 2 * bias + 1) return fraction == 0 ? sign * INFINITY : NAN;
    return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias - bits)
                                 : std::ldexp((1 << bits) + fraction, exponent - bias - bits));
}

template <class Half>
std::size_t wrong_patterns() {
    std::size_t wrong = 0;
    for (const Half x : all_patterns<Half>()) {
        const float value = static_cast<float>(x);
        const Half back(value), from_double(static_cast<double>(x));
        if (is_nan(x))
            wrong += value == value || !is_nan(back) || !is_nan(from_double) ||
                     (back.bits & 0x8000) != (x.bits & 0x8000);
        else
            wrong += std::bit_cast<std::uint64_t>(meaning(x)) !=
                         std::bit_cast<std::uint64_t>(static_cast<double>(value)) ||
                     back.bits != x.bits || from_double.bits != x.bits ||
                     static_cast<bool>(x) != (value != 0) || !(x == back);
    }
    return wrong;
}

template <class Half>
std::size_t wrong_roundings(const std::string& name) {
    const auto doubles = golden_array<double>("doubles");
    const auto integers = golden_array<std::int64_t>("integers");
    const auto of_doubles = golden_array<std::int64_t>(name + "_of_doubles"),
               of_integers = golden_array<std::int64_t>(name + "_of_integers");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < doubles.size(); ++i) {
        const double x = doubles[i];
        wrong += Half(x).bits != of_doubles[i];
        if (const auto narrow = static_cast<float>(x); static_cast<double>(narrow) == x)
            wrong += Half(narrow).bits != of_doubles[i];
    }
    for (std::size_t i = 0; i < integers.size(); ++i) {
        wrong += Half(integers[i]).bits != of_integers[i];
        if (integers[i] >= 0) wrong += Half(static_cast<std::uint64_t>(integers[i])).bits != of_integers[i];
        if (std::in_range<int>(integers[i]))
            wrong += Half(static_cast<int>(integers[i])).bits != of_integers[i];
    }
    return wrong;
}

// Whether the tensor conversions of each pair of types are those of the elements, in both kernels, from views
// too.
template <class Half, class Other>
void check_copies(const std::vector<Half>& halves, const std::vector<Other>& others) {
    const auto n = static_cast<std::int64_t>(halves.size()), m = static_cast<std::int64_t>(others.size());
    const Tensor h = from_vector(halves, {n}), o = from_vector(others, {m});
    for (const bool reference : {false, true}) {
        const Plain kernels(Plain::primitives, reference);
        const auto widened = h.to(dtype_of<Other>()).template to_vector<Other>();
        const auto strided = strided_copy(h).to(dtype_of<Other>()).template to_vector<Other>();
        const auto narrowed = o.to(dtype_of<Half>()).template to_vector<Half>();
        const auto strided_narrow = strided_copy(o).to(dtype_of<Half>()).template to_vector<Half>();
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < halves.size(); ++i)
            wrong += widened[i] != static_cast<Other>(halves[i]) || strided[i] != widened[i];
        for (std::size_t i = 0; i < others.size(); ++i)
            wrong += narrowed[i].bits != Half(static_cast<Other>(others[i])).bits ||
                     strided_narrow[i].bits != narrowed[i].bits;
        CHECK(wrong == 0);
    }
}

template <class Half>
void check_copies_of() {
    std::vector<Half> finite, whole;
    std::vector<float> floats;
    std::vector<double> doubles;
    std::vector<std::int64_t> integers;
    const double limit = std::is_same_v<Half, Float16> ? 65520 : 3.39e38;
    for (const Half x : all_patterns<Half>()) {
        if (is_nan(x)) continue;
        finite.push_back(x);
        if (std::fabs(static_cast<double>(x)) < 0x1p63) whole.push_back(x);
    }
    for (const double x : golden_array<double>("doubles")) {
        const auto rounded = static_cast<float>(x);
        if (std::fabs(static_cast<double>(rounded)) < limit) doubles.push_back(x), floats.push_back(rounded);
    }
    for (const std::int64_t x : golden_array<std::int64_t>("integers"))
        if (std::fabs(static_cast<double>(x)) < limit) integers.push_back(x);
    check_copies(finite, floats);
    check_copies(finite, doubles);
    check_copies(whole, integers);
    check_copies(finite, std::vector<bool>{false, true, true});
}

// The least number of digits with which a text reads back as x: of those that are nearest to it, from either
// side.
template <class Half>
std::size_t needed_digits(Half x) {
    const auto exact = static_cast<double>(x);
    for (int digits = 1;; ++digits)
        for (const double near : {exact, exact * (1 + 0x1p-30), exact * (1 + 0x1p-10)}) {
            double read = 0;
            from_chars(to_chars(near, std::chars_format::scientific, digits - 1), read);
            if (Half(read) == x) return static_cast<std::size_t>(digits);
        }
}

}  // namespace

TEST_CASE("every pattern of 16 bits is the number that its format defines, and comes back", "[half]") {
    CHECK(wrong_patterns<BFloat16>() == 0);
    CHECK(wrong_patterns<Float16>() == 0);
    const auto torch = golden_array<float>("bfloat16");
    std::size_t equal = 0;
    for (std::size_t i = 0; i < torch.size(); ++i)
        equal += std::bit_cast<std::uint32_t>(torch[i]) ==
                 std::bit_cast<std::uint32_t>(static_cast<float>(from_bits<BFloat16>(i)));
    CHECK(equal == 65536);
}

TEST_CASE("a number is rounded once to 16 bits, to the nearest, ties to even", "[half][golden]") {
    CHECK(wrong_roundings<BFloat16>("bfloat16") == 0);
    CHECK(wrong_roundings<Float16>("float16") == 0);
    STATIC_REQUIRE(Float16(65519.99).bits == 0x7BFF);
    STATIC_REQUIRE(Float16(65520).bits == 0x7C00);
    STATIC_REQUIRE(BFloat16(1.00390625 + 0x1p-40).bits == 0x3F81);  // as a float it would be a tie
    STATIC_REQUIRE(BFloat16(1.00390625).bits == 0x3F80);
    STATIC_REQUIRE(Float16(-0.0).bits == 0x8000);
    STATIC_REQUIRE(Float16(BFloat16(1e6)).bits == 0x7C00);
    STATIC_REQUIRE(BFloat16(Float16(0.1)).bits == 0x3DCD);
    STATIC_REQUIRE(BFloat16(true).bits == 0x3F80);
}

TEST_CASE("NaN stays NaN and quiet, and infinities stay infinite", "[half]") {
    for (const float nan :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN(),
          std::bit_cast<float>(0x7F800001U), std::bit_cast<float>(0xFFFFFFFFU)}) {
        CHECK((BFloat16(nan).bits & 0x7FC0) == 0x7FC0);
        CHECK((Float16(nan).bits & 0x7E00) == 0x7E00);
        CHECK((BFloat16(static_cast<double>(nan)).bits & 0x7FC0) == 0x7FC0);
    }
    CHECK(Float16(INFINITY).bits == 0x7C00);
    CHECK(BFloat16(-INFINITY).bits == 0xFF80);
    CHECK_FALSE(Float16(NAN) == Float16(NAN));
    CHECK(Float16(-0.0) == Float16(0));
}

TEST_CASE("a tensor is converted element by element, from views and by both kernels", "[half]") {
    check_copies_of<BFloat16>();
    check_copies_of<Float16>();
    const Tensor x = tensor({1.0, -0.25, INFINITY, NAN, 300}, bfloat16), y = x.to(float16);
    CHECK(y.dtype() == float16);
    CHECK(same_bits(y.to(float32), x.to(float32)));
    CHECK(same_bits(y.to(bfloat16), x));
}

TEST_CASE("a float16 prints as NumPy's", "[half][golden][printing]") {
    const auto bytes = golden_array<std::int64_t>("float16_texts");
    const std::string all(bytes.begin(), bytes.end());
    std::size_t at = 0, wrong = 0;
    for (std::size_t i = 0; i < 0x7C00; ++i) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        wrong += from_vector(std::vector{from_bits<Float16>(i)}, {}).str() != all.substr(at, end - at);
        at = end + 1;
    }
    CHECK(wrong == 0);
    CHECK(at == all.size() + 1);
    CHECK(tensor(-0.0, float16).str() == "-0.0");
    CHECK(tensor({0.1, -0.25}, float16).str() == "[ 0.1  -0.25]");
}

TEST_CASE("a bfloat16 prints the fewest digits that read back", "[half][printing]") {
    std::size_t wrong = 0;
    for (std::size_t i = 1; i < 0x7F80; ++i) {
        const auto x = from_bits<BFloat16>(i);
        std::string text = from_vector(std::vector{x}, {}).str();
        double read = 0;
        const auto end = from_chars(text, read);
        wrong += !(BFloat16(read) == x) || end.ptr != text.data() + text.size();
        text.resize(std::min(text.find('e'), text.size()));
        std::erase(text, '.');
        text.erase(0, text.find_first_not_of('0'));
        text.erase(text.find_last_not_of('0') + 1);
        wrong += text.size() > needed_digits(x);
    }
    CHECK(wrong == 0);
    CHECK(tensor(0x1p64, bfloat16).str() == "1.85e+19");  // 1.84e+19 reads back as the number before it
    CHECK(tensor({0.1, 1.0 / 3, 100}, bfloat16).str() == "[  0.1     0.334 100.   ]");
    CHECK(tensor({0.1, 2.34e38}, bfloat16).str() == "[1.00e-01 2.34e+38]");
    CHECK(tensor({NAN, -INFINITY}, bfloat16).str() == "[ nan -inf]");
    CHECK(tensor({0.5}, bfloat16).repr() == "tensor([0.5], shape=(1,), dtype=bfloat16)");
}
