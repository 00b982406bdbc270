#include "models/text/pattern.h"

#include "models/text/unicode_table.h"
#include "weft/core/text.h"

namespace weft::text {

namespace {

enum class Class { letter, number, space, other };

Class class_of(char32_t c) {
    if (c < 0x80) {  // most characters, without a search
        const char32_t lower = c | 0x20;
        if (lower >= 'a' && lower <= 'z') return Class::letter;
        if (c >= '0' && c <= '9') return Class::number;
    } else {
        if (is_letter(c)) return Class::letter;
        if (is_number(c)) return Class::number;
    }
    return is_space(c) ? Class::space : Class::other;
}

struct Scanned {
    Class kind;
    std::size_t end;
};

Scanned scan(std::string_view text, std::size_t at) {
    const Decoded c = decode_at(text, at);
    return {c.kind == Decoded::character ? class_of(c.value) : Class::other, at + c.length};
}

}  // namespace

std::size_t piece_end(std::string_view text, std::size_t at) {
    if (text[at] == '\'')
        for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
            if (text.substr(at, ending.size()) == ending) return at + ending.size();

    // A run of one class, with an optional space before it unless it is of spaces.
    Scanned scanned = scan(text, at);
    if (text[at] == ' ' && at + 1 < text.size())
        if (const Scanned next = scan(text, at + 1); next.kind != Class::space) scanned = next;
    const Class kind = scanned.kind;
    std::size_t end = scanned.end, last = at;  // of the run so far, and where its last character begins
    while (end < text.size()) {
        scanned = scan(text, end);
        if (scanned.kind != kind) break;
        last = end, end = scanned.end;
    }
    // The last of several spaces before something else is left for the next piece.
    if (kind == Class::space && end < text.size() && last > at) return last;
    return end;
}

}  // namespace weft::text
