#include "weft/viz/text.h"

#include <algorithm>

#include "weft/base/numbers.h"
#include "weft/base/table.h"
#include "weft/base/utf8.h"

namespace weft::viz {

std::string decimal(double value) {
    std::string text = to_chars(value, std::chars_format::fixed, 2);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

std::string pad_left(const std::string& text, std::size_t to) {
    return std::string(to - std::min(to, display_width(text)), ' ') + text;
}

std::string truncated(const std::string& text, std::size_t to) {
    if (display_width(text) <= to) return text;
    std::size_t end = 0;
    for (std::size_t next = 0, taken = 0; next < text.size(); end = next) {
        displayed(text, next);
        taken += display_width(std::string_view(text).substr(end, next - end));
        if (taken + 1 > to) break;
    }
    return text.substr(0, end) + "…";
}

std::string shown(std::string_view text) {
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
        const char* const mark = text[at] == '\n' ? "↵" : text[at] == '\t' ? "⇥" : nullptr;
        shown += mark != nullptr ? (++at, mark) : displayed(text, at);
    }
    return shown;
}

std::string visible(std::string_view token) {
    const std::size_t start = std::min(token.find_first_not_of(' '), token.size());
    const std::size_t end = std::max(token.find_last_not_of(' ') + 1, start);
    return repeated("␣", start) + shown(token.substr(start, end - start)) + repeated("␣", token.size() - end);
}

std::string xml(std::string_view text) {
    constexpr std::string_view special = "&<>\"'";
    constexpr std::array<const char*, 5> entities = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    std::string escaped;
    for (const char c : text)
        if (const std::size_t found = special.find(c); found < special.size())
            escaped += entities[found];
        else
            escaped += c;
    return escaped;
}

}  // namespace weft::viz
