// Numbers in the files of a run and on command lines, independent of the locale.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "weft/base/numbers.h"
#include "weft/base/utf8.h"

namespace weft {

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
