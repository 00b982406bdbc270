// Text that means the same on a terminal, in SVG and in every locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::viz {

std::string number(double value, int digits = 6);  // "0.25", "1e-07": at most that many significant digits
std::string decimal(double value);  // "12.5": at most two digits after the point, as SVG likes it

// How many columns of a terminal a UTF-8 text takes: two for East Asian characters and emoji, none for accents
// that combine.
std::size_t columns(std::string_view text);
std::string padded(const std::string& text, std::size_t to);       // spaces behind
std::string padded_left(const std::string& text, std::size_t to);  // spaces before
std::string shortened(const std::string& text, std::size_t to);    // with … at its end when it is longer

// A token as it can be shown: spaces at its ends as ␣, newline ↵, tab ⇥, other control characters \x1b or
// \u202e, and bytes that are not UTF-8 \xff.
std::string visible(std::string_view token);

std::string xml(std::string_view text);  // with & < > " ' escaped

// Labels for `count` rows, visible: those given, or positions from 1. ShapeError, naming operation and `what`,
// when their number is another.
std::vector<std::string> labels(const char* operation, const char* what, const std::vector<std::string>& given,
                                std::int64_t count);

}  // namespace weft::viz
