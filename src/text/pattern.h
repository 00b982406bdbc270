// Regular expressions that cut a text into pieces.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weft::text {

// Whitespace as Hugging Face's tokenizers see it, inside brackets: Unicode's White_Space, to which PCRE2's \s
// would add U+180E.
inline constexpr char white_space[] = R"(\t-\r\x{85}\p{Z})";

class Pattern {
public:
    // Of a pattern in PCRE2's syntax; ValueError if it is not one.
    explicit Pattern(const std::string& pcre2);
    // Of a pattern in Oniguruma's syntax, with which tokenizer.json is written. ValueError for what means
    // something else to PCRE2, or could leave the text: \w, \b, \K, back references, brackets in brackets.
    static Pattern of_oniguruma(const std::string& pattern);
    static Pattern of_words(const std::string& literal);  // matches just this text

    // Visits the parts that make up a UTF-8 text, in order, with whether they match; none is empty. An empty
    // match cuts. ValueError if a match takes ten million steps.
    void split(std::string_view text, const std::function<void(std::string_view, bool)>& visit) const;

    struct Compiled;

private:
    std::shared_ptr<const Compiled> compiled_;
};

// GPT-2's pattern (openai/gpt-2, encoder.py), which matches at every position.
const Pattern& gpt2_pattern();

// Unicode's composed form.

// Normalization Form C of a UTF-8 text (Unicode Standard Annex #15): é, whether written as one character or as
// e with an accent, as one. By Unicode 9, as in the tokenizers crate: marks since then are letters.
std::string nfc(std::string_view text);

}  // namespace weft::text
