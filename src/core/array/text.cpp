#include "weft/core/text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace weft::text {

Decoded decode_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(at);
    if (first < 0x80) return {first, 1};
    // The second byte's range keeps out overlong forms (after E0, F0), surrogates (ED) and what lies above
    // U+10FFFF (F4).
    std::size_t length = 0;
    std::uint8_t low = 0x80, high = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) length = 2;
    if (first >= 0xE0 && first <= 0xEF) length = 3;
    if (first >= 0xF0 && first <= 0xF4) length = 4;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
    if (length == 0) return {0, 1, Decoded::broken};
    char32_t value = first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i == text.size()) return {0, i, Decoded::cut};
        const std::uint8_t next = byte(at + i);
        if (next < low || next > high) return {0, i, Decoded::broken};
        value = value << 6 | (next & 0x3FU);
        low = 0x80, high = 0xBF;
    }
    return {value, length};
}

void append_utf8(std::string& text, char32_t c) {
    const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
        put(0xC0 | c >> 6);
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F));
    } else {
        put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F));
    }
    put(0x80 | (c & 0x3F));
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        if (c.kind != Decoded::character) return false;
        at += c.length;
    }
    return true;
}

bool is_hidden(char32_t c) {
    constexpr std::pair<char32_t, char32_t> ranges[] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},
                                                        {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
                                                        {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}};
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [&](const auto& range) { return c >= range.first && c <= range.second; });
}

std::string excerpt(std::string_view text, std::size_t characters) {
    std::string shown;
    const auto append = [&](const char* format, unsigned value) {
        char code[16];
        std::snprintf(code, sizeof code, format, value);
        shown += code;
    };
    std::size_t at = 0;
    for (; at < text.size() && characters > 0; --characters) {
        const Decoded c = decode_at(text, at);
        const bool is_character = c.kind == Decoded::character;
        if (!is_character)
            append("\\x%02x", static_cast<unsigned char>(text[at]));
        else if (is_hidden(c.value))
            append(c.value < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(c.value));
        else
            shown += text.substr(at, c.length);
        at += is_character ? c.length : 1;
    }
    return shown + (at < text.size() ? "…" : "");
}

}  // namespace weft::text
