#include "models/text/pattern.h"

#include "models/text/unicode_table.h"
#include "weft/core/text.h"

namespace weft::text {

namespace {

enum class Class { letter, number, space, other };

struct Scanned {
    Class kind;
    std::size_t end;
};

Scanned scan(std::string_view text, std::size_t at) {
    const Decoded c = decode_at(text, at);
    const std::size_t end = at + c.length;
    if (c.kind != Decoded::character) return {Class::other, end};
    if (c.value < 0x80) {
        const char32_t lower = c.value | 0x20;
        if (lower >= 'a' && lower <= 'z') return {Class::letter, end};
        if (c.value >= '0' && c.value <= '9') return {Class::number, end};
        return {is_space(c.value) ? Class::space : Class::other, end};
    }
    if (is_letter(c.value)) return {Class::letter, end};
    if (is_number(c.value)) return {Class::number, end};
    return {is_space(c.value) ? Class::space : Class::other, end};
}

}  // namespace

std::size_t piece_end(std::string_view text, std::size_t at) {
    if (text[at] == '\'')
        for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
            if (text.substr(at, ending.size()) == ending) return at + ending.size();

    // ` ?` and a run of one class, but of spaces only those
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
    // Of spaces before something else the last one is left, to go with it or to be a piece of its own.
    if (kind == Class::space && end < text.size() && last > at) return last;
    return end;
}

}  // namespace weft::text
