// Base64 (RFC 4648, §4).
#include <array>
#include <cstdint>

#include "viz/report_content.h"

namespace weft::viz {
namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> values = [] {
    std::array<std::int8_t, 256> table{};
    table.fill(-1);
    for (std::size_t i = 0; i < letters.size(); ++i)
        table[static_cast<unsigned char>(letters[i])] = static_cast<std::int8_t>(i);
    return table;
}();

}  // namespace

std::string base64(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t group = 0;  // three bytes, 24 bits
        for (std::size_t i = 0; i < 3; ++i)
            group = group << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0u);
        for (std::size_t i = 0; i < 4; ++i)
            text += at + i <= bytes.size() ? letters[group >> (18 - 6 * i) & 63] : '=';
    }
    return text;
}

bool from_base64(std::string_view text, std::string& bytes) {
    bytes.clear();
    if (text.size() % 4 != 0) return false;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t at = 0; at < text.size(); at += 4) {
        std::uint32_t group = 0;
        std::size_t padding = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const char letter = text[at + i];
            const bool may_pad = at + 4 == text.size() && i >= 2;
            const int value = values[static_cast<unsigned char>(letter)];
            if (letter == '=' && may_pad)
                ++padding;
            else if (value < 0 || padding > 0)
                return false;
            group = group << 6 | static_cast<std::uint32_t>(value < 0 ? 0 : value);
        }
        for (std::size_t i = 0; i + padding < 3; ++i) bytes += static_cast<char>(group >> (16 - 8 * i) & 255);
    }
    return true;
}

}  // namespace weft::viz
