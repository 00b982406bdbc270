#include "viz/text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "weft/core/error.h"
#include "weft/core/text.h"

namespace weft::viz {
namespace {

struct CodePoint {
    std::uint32_t value = 0;
    std::size_t bytes = 1;
    bool valid = true;
};

// The code point at text[at]; one invalid byte where the text is not UTF-8 (RFC 3629, §4).
CodePoint decode(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return {first, 1, true};
    const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return {first, 1, false};
    std::uint32_t value = first & (0xFFu >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return {first, 1, false};
        value = value << 6 | (byte(i) & 0x3Fu);
    }
    const bool overlong = value < (bytes == 4 ? 0x10000u : bytes == 3 ? 0x800u : 0x80u);
    const bool surrogate = value >= 0xD800 && value < 0xE000;
    if (overlong || surrogate || value > 0x10FFFF) return {first, 1, false};
    return {value, bytes, true};
}

struct Range {
    std::uint32_t first, last;
};

bool is_in(std::uint32_t value, std::initializer_list<Range> ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](Range r) { return value >= r.first && value <= r.last; });
}

std::size_t columns_of(std::uint32_t c) {
    if (is_in(c, {{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20F0}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}}))
        return 0;
    const bool wide = is_in(c, {{0x1100, 0x115F},
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
    return wide ? 2 : 1;
}

std::string hex(std::uint32_t value, std::size_t digits) {
    std::array<char, 8> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
    const auto length = static_cast<std::size_t>(end - text.data());
    return std::string(digits - std::min(digits, length), '0') + std::string(text.data(), length);
}

template <class... Format>
std::string chars(double value, Format... format) {
    std::array<char, 400> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format...).ptr;
    return {text.data(), end};
}

}  // namespace

std::string number(double value, int digits) { return chars(value, std::chars_format::general, digits); }

std::string decimal(double value) {
    std::string text = chars(value, std::chars_format::fixed, 2);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

std::size_t columns(std::string_view text) {
    std::size_t sum = 0;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode(text, at);
        sum += c.valid ? columns_of(c.value) : 1;
        at += c.bytes;
    }
    return sum;
}

std::string padded(const std::string& text, std::size_t to) {
    return text + std::string(to - std::min(to, columns(text)), ' ');
}

std::string padded_left(const std::string& text, std::size_t to) {
    return std::string(to - std::min(to, columns(text)), ' ') + text;
}

std::string shortened(const std::string& text, std::size_t to) {
    if (columns(text) <= to) return text;
    std::string start;
    for (std::size_t at = 0, taken = 0; at < text.size();) {
        const CodePoint c = decode(text, at);
        taken += c.valid ? columns_of(c.value) : 1;
        if (taken + 1 > to) break;
        start += text.substr(at, c.bytes);
        at += c.bytes;
    }
    return start + "…";
}

std::string visible(std::string_view token) {
    const std::size_t first = std::min(token.find_first_not_of(' '), token.size());
    const std::size_t last = first == token.size() ? 0 : token.find_last_not_of(' ');
    std::string shown;
    for (std::size_t at = 0; at < token.size();) {
        const CodePoint c = decode(token, at);
        if (!c.valid)
            shown += "\\x" + hex(c.value, 2);
        else if (c.value == ' ')
            shown += at < first || at > last ? "␣" : " ";
        else if (c.value == '\n')
            shown += "↵";
        else if (c.value == '\t')
            shown += "⇥";
        else if (text::is_hidden(c.value))
            shown += c.value < 0x100 ? "\\x" + hex(c.value, 2) : "\\u" + hex(c.value, 4);
        else
            shown += token.substr(at, c.bytes);
        at += c.bytes;
    }
    return shown;
}

std::string xml(std::string_view text) {
    std::string escaped;
    for (const char c : text) switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            case '\'':
                escaped += "&apos;";
                break;
            default:
                escaped += c;
        }
    return escaped;
}

std::vector<std::string> labels(const char* operation, const char* what, const std::vector<std::string>& given,
                                std::int64_t count) {
    if (!given.empty() && static_cast<std::int64_t>(given.size()) != count)
        throw ShapeError(std::string(operation) + ": " + std::to_string(given.size()) + " labels for " +
                         std::to_string(count) + " " + what + "; give one for each, or none");
    std::vector<std::string> shown;
    for (std::int64_t i = 0; i < count; ++i)
        shown.push_back(given.empty() ? std::to_string(i + 1) : visible(given[static_cast<std::size_t>(i)]));
    return shown;
}

}  // namespace weft::viz
