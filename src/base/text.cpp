#include "weft/base/text.h"

#include <locale.h>
#include <stdlib.h>
#include <algorithm>
#include <cstdint>
#include <utility>

namespace weft {

Decoded decode_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(at);
    if (first < 0x80) return {first, 1};
    const std::size_t length = first < 0xC2 || first > 0xF4 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0) return {0, 1, Decoded::broken};
    // The range of the second byte excludes overlong forms (after E0, F0), surrogates (ED) and code points
    // above U+10FFFF (F4).
    std::uint8_t low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    std::uint8_t high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
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
    constexpr char32_t first[] = {0, 0xC0, 0xE0, 0xF0};  // marks of the first byte
    int following = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    text.push_back(static_cast<char>(first[following] | c >> 6 * following));
    while (following-- > 0) text.push_back(static_cast<char>(0x80 | (c >> 6 * following & 0x3F)));
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

namespace {
// Marks without width join letters, and soft hyphens split words: they are hidden, and harmless.
bool is_harmless(char32_t c) {
    return c == '\n' || c == '\t' || c == 0xAD || (c >= 0x200B && c <= 0x200D) || c == 0x2060 || c == 0xFEFF;
}
}  // namespace

std::string displayed(std::string_view text, std::size_t& at) {
    const Decoded c = decode_at(text, at);
    const bool is_character = c.kind == Decoded::character;
    const std::string_view bytes = text.substr(at, is_character ? c.length : 1);
    at += bytes.size();
    if (is_character && !is_hidden(c.value)) return std::string(bytes);
    const std::uint32_t value = is_character ? c.value : static_cast<unsigned char>(bytes[0]);
    const std::string digits = to_chars(value, 16);
    const std::size_t width = value < 0x100 ? 2 : 4;
    return (width == 2 ? "\\x" : "\\u") + std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::string printable(std::string_view text) {
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        if (c.kind != Decoded::character || !is_harmless(c.value)) {
            shown += displayed(text, at);
        } else {
            shown += text.substr(at, c.length);
            at += c.length;
        }
    }
    return shown;
}

std::string excerpt(std::string_view text, std::size_t characters) {
    std::string shown;
    std::size_t at = 0;
    for (; at < text.size() && characters > 0; --characters) shown += displayed(text, at);
    return shown + (at < text.size() ? "…" : "");
}

namespace {

using Ranges = std::initializer_list<std::pair<char32_t, char32_t>>;

std::size_t columns_of(char32_t c) {
    const auto is_in = [c](Ranges ranges) {
        return std::any_of(ranges.begin(), ranges.end(),
                           [c](const auto& range) { return c >= range.first && c <= range.second; });
    };
    if (is_in({{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20F0}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}))
        return 0;
    const bool is_wide = is_in({{0x1100, 0x115F},
                                {0x2705, 0x2705},
                                {0x274C, 0x274C},
                                {0x2E80, 0xA4CF},
                                {0xAC00, 0xD7A3},
                                {0xF900, 0xFAFF},
                                {0xFE30, 0xFE6F},
                                {0xFF00, 0xFF60},
                                {0xFFE0, 0xFFE6},
                                {0x1F300, 0x1FAFF},
                                {0x20000, 0x3FFFD}});
    return is_wide ? 2 : 1;
}

}  // namespace

std::size_t display_width(std::string_view text) {
    std::size_t sum = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        const bool is_character = c.kind == Decoded::character;
        sum += is_character ? columns_of(c.value) : 1;
        at += is_character ? c.length : 1;
    }
    return sum;
}

std::string pad_right(const std::string& text, std::size_t to) {
    return text + std::string(to - std::min(to, display_width(text)), ' ');
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) line += pad_right(row[i], widths[i]) + "  ";
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

}  // namespace weft

#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <cctype>
#include <cmath>

namespace weft {

std::from_chars_result from_chars(std::string_view text, double& value) {
    static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
    const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
    // strtod also reads spaces and + in front, and hexadecimal digits after 0x.
    const bool is_hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    const std::string copy(text, 0, is_hexadecimal ? text.size() - digits.size() + 1 : text.size());
    char* end = nullptr;
    const double found = ::strtod_l(copy.c_str(), &end, plain);
    if (end == copy.c_str() || text[0] == '+' || std::isspace(static_cast<unsigned char>(text[0])) != 0)
        return {text.data(), std::errc::invalid_argument};
    const char* const behind = text.data() + (end - copy.c_str());
    if (std::isinf(found) && digits[0] != 'i' && digits[0] != 'I')
        return {behind, std::errc::result_out_of_range};
    value = found;
    return {behind, std::errc()};
}

std::string format_number(double value, int digits) {
    return to_chars(value, std::chars_format::general, digits);
}

}  // namespace weft
