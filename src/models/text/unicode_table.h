// The classes of characters in GPT-2's pattern.
#pragma once

namespace weft::text {

bool is_letter(char32_t c);  // general category L, Unicode 14.0
bool is_number(char32_t c);  // general category N

// Unicode's White_Space, the pattern's \s; unchanged since Unicode 6.3.
constexpr bool is_space(char32_t c) {
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

}  // namespace weft::text
