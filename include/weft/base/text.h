// UTF-8 one character at a time (The Unicode Standard, §3.9, table 3-7: no overlong forms, no surrogates,
// nothing above U+10FFFF).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A decoded character, or bytes that do not form one.
struct Decoded {
    // What the bytes are.
    enum Kind {
        character,  // a complete character
        broken,     // bytes that no character contains
        cut         // the text ends inside a character
    };
    char32_t value = 0;      // the code point of a character
    std::size_t length = 0;  // in bytes, at least 1; if broken or cut, of the part that could start a character
    Kind kind = character;   // the first fault of the text
};

// The character that starts at text[at], at < text.size().
//
//     std::string word = "α";
//     append_utf8(word, U'β');                   // word is "αβ"
//     const Decoded first = decode_at(word, 0);  // first.value is U'α', first.length is 2
//     const bool whole = is_utf8(word);          // true
Decoded decode_at(std::string_view text, std::size_t at);
// Appends c as UTF-8.
void append_utf8(std::string& text, char32_t c);

// Whether the whole text is valid UTF-8.
bool is_utf8(std::string_view text);

// Whether c is a control character, changes the direction of writing, has no width, or is forbidden in XML.
bool is_hidden(char32_t c);

// The character at text[at] for display; moves `at` past it. Hidden characters and bytes that are not UTF-8
// become escapes: "\x1b", "\u202e".
//
//     std::size_t at = 0;
//     const std::string shown = displayed("\x1b[0m", at);  // "\\x1b"; at is 1
//     const bool hidden = is_hidden(0x1b);                 // true
std::string displayed(std::string_view text, std::size_t& at);

// Text of unknown origin for use in a message: at most `characters` of them, as `displayed` writes them, then
// "…" if there are more.
//
//     const std::string harmless = excerpt("one\ntwo three", 8);  // "one\\x0atwo …"
std::string excerpt(std::string_view text, std::size_t characters = 60);

// The whole text, for a terminal: what could steer it (control characters other than newline and tab, marks
// that change the direction of writing, bytes that are not UTF-8) as `displayed` writes it. Every message of an
// Error and every warning passes through it.
//
//     const std::string tame = printable("a\tb\n\x1b[31mred");  // "a\tb\n\\x1b[31mred"
std::string printable(std::string_view text);

// Internal: Text in columns, for a terminal.

// Returns the columns that a UTF-8 text takes in a terminal: two for an East Asian character or an emoji, none
// for a combining accent, one for a byte that is not UTF-8.
std::size_t display_width(std::string_view text);

// Returns the text with spaces appended up to that many columns.
std::string pad_right(const std::string& text, std::size_t to);

// Returns a line per row, with cells left-aligned and two spaces apart, and no trailing spaces.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

// Internal: A list of errors, one per line: the first 20, and the number of the others. Names in them may come
// from a file, so hidden characters are shown as escapes.

class ErrorList {
public:
    void add(const std::string& line) {
        if (++count_ <= max_shown) lines_ += "\n  " + excerpt(line, 300);
    }
    bool empty() const { return count_ == 0; }
    std::string str() const {
        return lines_ + (count_ > max_shown ? "\n  and " + std::to_string(count_ - max_shown) + " more" : "");
    }

private:
    static constexpr std::size_t max_shown = 20;
    std::string lines_;
    std::size_t count_ = 0;
};

}  // namespace weft
