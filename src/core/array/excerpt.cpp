#include <cstdio>

#include "core/array/utf8.h"
#include "weft/models/io.h"

namespace weft::io {

std::string excerpt(std::string_view text, std::size_t characters) {
    std::string shown;
    const auto append = [&](const char* format, unsigned value) {
        char code[16];
        std::snprintf(code, sizeof code, format, value);
        shown += code;
    };
    std::size_t at = 0;
    for (; at < text.size() && characters > 0; --characters) {
        const text::Decoded c = text::decode_at(text, at);
        const bool is_character = c.kind == text::Decoded::character;
        if (!is_character)
            append("\\x%02x", static_cast<unsigned char>(text[at]));
        else if (text::is_hidden(c.value))
            append(c.value < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(c.value));
        else
            shown += text.substr(at, c.length);
        at += is_character ? c.length : 1;
    }
    return shown + (at < text.size() ? "…" : "");
}

}  // namespace weft::io
