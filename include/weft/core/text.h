// Text in messages and pictures: numbers, indices, and UTF-8 one character at a time (The Unicode Standard,
// §3.9, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {
class Shape;
}

namespace weft::text {

// A number as std::to_chars writes it, in every locale the same; the shortest text that reads back as the
// same value unless a format says otherwise.
//
//     const std::string shortest = text::chars(0.1);                            // "0.1"
//     const std::string fixed = text::chars(2.0, std::chars_format::fixed, 2);  // "2.00"
//     const std::string rounded = text::number(1.0 / 3, 3);                     // "0.333"
//     const std::string position = text::index(2, {2, 2});                      // "(1, 0)"
//     const std::string harmless = text::excerpt("one\ntwo three", 8);          // "one\x0atwo …"
template <class T, class... Format>
std::string chars(T value, Format... format) {
    std::array<char, 512> buffer;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...).ptr};
}
// Reads the number at the beginning of `text` into `value`, as std::from_chars does and in every locale the
// same; not every standard library has std::from_chars for floating numbers.
//
//     double rate = 0;
//     const auto read = text::read("1e-3,", rate);  // rate is 0.001, read.ptr at the comma
std::from_chars_result read(std::string_view text, double& value);
template <std::integral T>
std::from_chars_result read(std::string_view text, T& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value);
}
// A number with at most `digits` significant digits: "0.25", "1e-07".
std::string number(double value, int digits = 6);
// The index of the element at position i in row-major order: index(2, Shape{2, 2}) is "(1, 0)".
std::string index(std::int64_t i, const Shape& shape);

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
//     text::append_utf8(word, U'β');                         // "αβ"
//     const text::Decoded first = text::decode_at(word, 0);  // U'α', 2 bytes
//     const bool whole = text::is_utf8(word);                // true
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
//     const std::string shown = text::displayed("\x1b[0m", at);  // "\\x1b"; at is 1
//     const bool hidden = text::is_hidden(0x1b);                 // true
std::string displayed(std::string_view text, std::size_t& at);

// Text of unknown origin for use in a message: at most `characters` of them, as `displayed` writes them, then
// "…" if there are more.
std::string excerpt(std::string_view text, std::size_t characters = 60);

}  // namespace weft::text
