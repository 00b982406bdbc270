// Text in messages and pictures: numbers and indices, and UTF-8 one character at a time (The Unicode Standard,
// §3.9, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF).
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {
class Shape;
}

namespace weft::text {

// What std::to_chars writes, in every locale: chars(0.1) is "0.1", the shortest text that reads back as the
// same value; chars(2.0, std::chars_format::fixed, 2) is "2.00".
template <class T, class... Format>
std::string chars(T value, Format... format) {
    std::array<char, 512> buffer;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...).ptr};
}
// At most `digits` significant digits: "0.25", "1e-07".
std::string number(double value, int digits = 6);
// The index of the element at position i in row-major order: index(2, Shape{2, 2}) is "(1, 0)".
std::string index(std::int64_t i, const Shape& shape);

// A character of a text, or bytes that are none.
struct Decoded {
    // What the bytes are.
    enum Kind {
        character,  // a whole character
        broken,     // bytes that no character contains
        cut         // the text ends inside a character
    };
    char32_t value = 0;      // of a character
    std::size_t length = 0;  // in bytes, at least 1; if broken or cut, of the part that could start a character
    Kind kind = character;   // what it is
};

// The character that starts at text[at], at < text.size().
Decoded decode_at(std::string_view text, std::size_t at);
// Appends the UTF-8 bytes of c.
void append_utf8(std::string& text, char32_t c);

// Whether all of the text is UTF-8.
bool is_utf8(std::string_view text);

// Control characters, those that change the direction of writing or have no width, and those XML forbids.
bool is_hidden(char32_t c);

// The character at text[at] for display, and moves `at` past it. A hidden character and a byte that is not
// UTF-8 become escapes: "\x1b", "\u202e".
std::string displayed(std::string_view text, std::size_t& at);

// A text of unknown origin for a message: at most this many characters as `displayed` writes them, then "…" if
// there are more.
std::string excerpt(std::string_view text, std::size_t characters = 60);

}  // namespace weft::text
