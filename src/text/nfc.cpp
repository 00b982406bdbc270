#include "text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <vector>

#include "weft/base/utf8.h"

namespace weft::text {

namespace {

// Marks, and U+11938 with its second part, that Unicode has since version 10. The tokenizers crate composes by
// version 9, to which they are letters (tests/golden/make_tokenizer_golden.py finds them).
constexpr std::pair<char32_t, char32_t> since_version_10[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
    {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},
    {0xA82C, 0xA82C},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50},
    {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x1183A},
    {0x11930, 0x11930}, {0x11938, 0x11938}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0},
    {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
    {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};

bool is_since_version_10(char32_t c) {
    const auto* after =
        std::ranges::upper_bound(since_version_10, c, {}, [](const auto& range) { return range.first; });
    return after != std::begin(since_version_10) && c <= std::prev(after)->second;
}

// Appends the composed form of a text, in n log n steps: utf8proc's own decomposition takes n² for n marks.
void append_composed(std::string& result, std::string_view text) {
    std::vector<utf8proc_int32_t> points;
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        utf8proc_int32_t parts[8];  // a character has at most four
        int boundary = 0;
        const auto n = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), parts, 8,
                                               UTF8PROC_DECOMPOSE, &boundary);
        points.insert(points.end(), parts, parts + std::clamp<utf8proc_ssize_t>(n, 0, 8));
        at += c.length;
    }
    const auto mark = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
    for (auto i = points.begin(); i != points.end();) {  // marks in the order of their classes
        const auto end = std::find_if(i, points.end(), [&](auto c) { return mark(c) == 0; });
        std::stable_sort(i, end, [&](auto a, auto b) { return mark(a) < mark(b); });
        i = end == points.end() ? end : end + 1;
    }
    const utf8proc_ssize_t n =
        utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()),
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; ++i)
        append_utf8(result, static_cast<char32_t>(points[static_cast<std::size_t>(i)]));
}

// The same, where the characters since version 10 stay what they are, and cut the text.
void append_by_version_9(std::string& result, std::string_view text) {
    std::size_t done = 0;
    for (std::size_t at = 0, next = 0; at < text.size(); at = next) {
        const Decoded c = decode_at(text, at);
        next = at + c.length;
        if (!is_since_version_10(c.value)) continue;
        append_composed(result, text.substr(done, at - done));
        result += text.substr(at, c.length);
        done = next;
    }
    append_composed(result, text.substr(done));
}

}  // namespace

std::string nfc(std::string_view text) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    // What is below U+0300, whose first byte is 0xCC, is composed; ASCII composes with nothing before it.
    const auto may_change = [](char c) { return static_cast<unsigned char>(c) >= 0xCC; };
    std::string result;
    for (auto done = text.begin(); done != text.end();) {
        const auto found = std::find_if(done, text.end(), may_change);
        auto begin = found;
        while (begin != done && !is_ascii(*begin)) --begin;  // with the character that it may compose with
        if (found == text.end()) begin = found;
        const auto end = std::find_if(found, text.end(), is_ascii);
        result.append(done, begin);
        append_by_version_9(result, std::string_view(begin, end));
        done = end;
    }
    return result;
}

}  // namespace weft::text
