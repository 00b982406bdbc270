// UTF-8, one character at a time (The Unicode Standard, §3.9, table 3-7: no overlong forms, no surrogates,
// nothing above U+10FFFF).
#pragma once

#include <string>
#include <string_view>

namespace weft::text {

struct Decoded {
    enum Kind { character, broken, cut };
    char32_t value = 0;  // of a character
    std::size_t length =
        0;  // its bytes; of what is broken or cut, the bytes that might have begun a character, at least 1
    Kind kind = character;  // cut: the text ends inside a character
};

Decoded decode_at(std::string_view text, std::size_t at);  // at < text.size()
void append_utf8(std::string& text, char32_t c);

bool is_utf8(std::string_view text);

// Controls, marks that turn the direction of writing or take no room, and what XML does not allow.
bool is_hidden(char32_t c);

// Text of unknown origin as a message can show it: at most so many characters, then …. Control characters,
// those that hide or turn the direction of writing, and bytes that are not UTF-8 are written as escapes with
// their hexadecimal digits.
std::string excerpt(std::string_view text, std::size_t characters = 60);

}  // namespace weft::text
