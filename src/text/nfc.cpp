#include "text/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <new>
#include <vector>

#include "weft/base/utf8.h"

namespace weft::text {

namespace {

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
        append_composed(result, std::string_view(begin, end));
        done = end;
    }
    return result;
}

}  // namespace weft::text
