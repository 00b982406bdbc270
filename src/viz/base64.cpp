// Base64 (RFC 4648, §4).
#include "viz/report_content.h"

namespace weft::viz {
namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    bytes.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::size_t value = at < text.size() - padding ? letters.find(text[at]) : 0;
        if (value == std::string_view::npos) return false;
        group = group << 6 | static_cast<std::uint32_t>(value);
        for (std::size_t i = 0; i < 3 && at % 4 == 3; ++i)
            bytes += static_cast<char>(group >> (16 - 8 * i) & 255);
    }
    bytes.resize(bytes.size() - padding);
    return true;
}

}  // namespace weft::viz
