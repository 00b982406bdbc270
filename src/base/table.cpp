#include "weft/base/table.h"

#include <algorithm>
#include <utility>

#include "weft/base/utf8.h"

namespace weft {
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
