// UTF-8 one character at a time (The Unicode Standard, §3.9, table 3-7: no overlong forms, no surrogates,
// nothing above U+10FFFF).
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft {

// A decoded character, or bytes that do not form one.
struct Decoded {
    // What the bytes are.
    enum Kind {
        character,  // a complete character
        broken,     // bytes that no character contains
        cut         // the text ends inside a character
    };
    char32_t value = 0;      // the code point of a character
    std::size_t length = 0;  // in bytes, at least 1; if broken or cut, of the part that could start a character
    Kind kind = character;   // the first fault of the text
};

// The character that starts at text[at], at < text.size().
//
//     std::string word = "α";
//     append_utf8(word, U'β');                   // word is "αβ"
//     const Decoded first = decode_at(word, 0);  // first.value is U'α', first.length is 2
//     const bool whole = is_utf8(word);          // true
Decoded decode_at(std::string_view text, std::size_t at);
// Appends c as UTF-8.
void append_utf8(std::string& text, char32_t c);

// Whether the whole text is valid UTF-8.
bool is_utf8(std::string_view text);

// Whether c is a control character, changes the direction of writing, has no width, or is forbidden in XML.
bool is_hidden(char32_t c);

// The character at text[at] for display; moves `at` past it. Hidden characters and bytes that are not UTF-8
// become escapes: "\x1b", "\u202e".
//
//     std::size_t at = 0;
//     const std::string shown = displayed("\x1b[0m", at);  // "\\x1b"; at is 1
//     const bool hidden = is_hidden(0x1b);                 // true
std::string displayed(std::string_view text, std::size_t& at);

// Text of unknown origin for use in a message: at most `characters` of them, as `displayed` writes them, then
// "…" if there are more.
//
//     const std::string harmless = excerpt("one\ntwo three", 8);  // "one\\x0atwo …"
std::string excerpt(std::string_view text, std::size_t characters = 60);

// The whole text, for a terminal: what could steer it (control characters other than newline and tab, marks
// that change the direction of writing, bytes that are not UTF-8) as `displayed` writes it. Every message of an
// Error and every warning passes through it.
//
//     const std::string tame = printable("a\tb\n\x1b[31mred");  // "a\tb\n\\x1b[31mred"
std::string printable(std::string_view text);

// Internal: Text in columns, for a terminal.

// Returns the columns that a UTF-8 text takes in a terminal: two for an East Asian character or an emoji, none
// for a combining accent, one for a byte that is not UTF-8.
std::size_t display_width(std::string_view text);

// Returns the text with spaces appended up to that many columns.
std::string pad_right(const std::string& text, std::size_t to);

// Returns a line per row, with cells left-aligned and two spaces apart, and no trailing spaces.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

// Internal: A list of errors, one per line: the first 20, and the number of the others. Names in them may come
// from a file, so hidden characters are shown as escapes.

class ErrorList {
public:
    void add(const std::string& line) {
        if (++count_ <= max_shown) lines_ += "\n  " + excerpt(line, 300);
    }
    bool empty() const { return count_ == 0; }
    std::string str() const {
        return lines_ + (count_ > max_shown ? "\n  and " + std::to_string(count_ - max_shown) + " more" : "");
    }

private:
    static constexpr std::size_t max_shown = 20;
    std::string lines_;
    std::size_t count_ = 0;
};

}  // namespace weft

// Numbers as text, whatever the locale.
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
