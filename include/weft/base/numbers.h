// Numbers as text, whatever the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "weft/base/text.h"

#if __cplusplus < 202002L  // not #error, after which the compiler would go on to some 75 other errors
#include "Weft needs C++20: add -std=c++20"
#endif

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace weft {

// A number as std::to_chars writes it, in every locale the same; the shortest text that reads back as the
// same value unless a format says otherwise.
//
//     const std::string shortest = to_chars(0.1);                            // "0.1"
//     const std::string fixed = to_chars(2.0, std::chars_format::fixed, 2);  // "2.00"
//     const std::string rounded = format_number(1.0 / 3, 3);                 // "0.333"
template <class T, class... Format>
std::string to_chars(T value, Format... format) {
    std::array<char, 512> buffer;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...).ptr};
}
// Reads the number at the beginning of `text` into `value`, as std::from_chars does and in every locale the
// same; not every standard library has std::from_chars for floating numbers.
//
//     double rate = 0;
//     const auto read = from_chars("1e-3,", rate);  // rate is 0.001, read.ptr at the comma
std::from_chars_result from_chars(std::string_view text, double& value);
template <std::integral T>
std::from_chars_result from_chars(std::string_view text, T& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value);
}
// A number with at most `digits` significant digits: "0.25", "1e-07".
std::string format_number(double value, int digits = 6);

// Numbers in the files of a run and on command lines, independent of the locale.

// Reads all of `text` as a number in [low, high] into `value`. Returns "", or what is wrong as the end of a
// message: "\"x\" is not a whole number", "0 is out of range; use at least 1 and at most 9".
//
//     int threads = 0;
//     const std::string problem = read_number("8", 1, 64, threads);  // "", and threads is 8
template <class Number>
std::string read_number(const std::string& text, Number low, Number high, Number& value) {
    constexpr bool real = std::is_floating_point_v<Number>;
    const char* last = text.data() + text.size();
    const auto read = from_chars(text, value);
    const auto bound = [](Number number) {  // writes the bound without an exponent
        if constexpr (real) return to_chars(number, std::chars_format::fixed);
        return to_chars(number);
    };
    std::string message;
    if (read.ptr != last || read.ec == std::errc::invalid_argument) {
        message = "\"" + excerpt(text) + "\" is not " + (real ? "a number" : "a whole number");
    } else if (read.ec != std::errc() || !(low <= value && value <= high)) {
        message = excerpt(text) + " is out of range; use at least " + bound(low);
        if (real && static_cast<double>(high) == std::nextafter(1.0, 0.0))
            message += " and less than 1";
        else if (high < std::numeric_limits<Number>::max())
            message += " and at most " + bound(high);
    }
    return message;
}

}  // namespace weft
