#include "text/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "weft/base/utf8.h"

namespace weft::text {

namespace {

// The beginning of the character that ends at text[at − 1].
std::size_t before(std::string_view text, std::size_t at) {
    do --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
    return at;
}

// \w of Rust's regular expressions.
bool is_word(std::string_view text, std::size_t at) {
    const char32_t c = decode_at(text, at).value;
    const auto kind = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) || kind == UTF8PROC_CATEGORY_PC ||
           c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||  // joiners; letters in circles
           (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool is_space(std::string_view text, std::size_t at) {
    const char32_t c = decode_at(text, at).value;
    const auto kind = utf8proc_category(static_cast<utf8proc_int32_t>(c));
    return (kind >= UTF8PROC_CATEGORY_ZS && kind <= UTF8PROC_CATEGORY_ZP) || (c >= '\t' && c <= '\r') ||
           c == 0x85;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(),
              [](const auto& a, const auto& b) { return a.content < b.content; });
    for (const AddedToken& token : tokens_) begins_[static_cast<unsigned char>(token.content.at(0))] = true;
}

const AddedToken* AddedTokens::longest_at(std::string_view text, std::size_t at) const {
    const AddedToken* found = nullptr;
    auto first = tokens_.begin(), last = tokens_.end();  // the tokens that begin with text[at … at + n)
    for (std::size_t n = 0; at + n < text.size() && first != last; ++n) {
        const auto byte = [n](const AddedToken& token) {  // −1 at its end
            return n < token.content.size() ? static_cast<unsigned char>(token.content[n]) : -1;
        };
        const int wanted = static_cast<unsigned char>(text[at + n]);
        first = std::partition_point(first, last, [&](const auto& token) { return byte(token) < wanted; });
        last = std::partition_point(first, last, [&](const auto& token) { return byte(token) == wanted; });
        if (first != last && first->content.size() == n + 1) found = &*first;
    }
    return found;
}

void AddedTokens::split(std::string_view text, bool parse_special,
                        const std::function<void(std::string_view)>& on_text,
                        const std::function<void(std::int64_t)>& on_token) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (!begins_[static_cast<unsigned char>(text[at])]) {
            ++at;
            continue;
        }
        const AddedToken* token = longest_at(text, at);
        if (token == nullptr) {
            ++at;
            continue;
        }
        std::size_t begin = at, end = at + token->content.size();
        at = end;  // a token that is passed over hides those inside it
        if (token->special && !parse_special) continue;
        if (token->single_word &&
            ((begin > 0 && is_word(text, before(text, begin))) || (end < text.size() && is_word(text, end))))
            continue;
        while (token->lstrip && begin > done && is_space(text, before(text, begin)))
            begin = before(text, begin);
        while (token->rstrip && end < text.size() && is_space(text, end)) end += decode_at(text, end).length;
        if (begin > done) on_text(text.substr(done, begin - done));
        on_token(token->id);
        done = at = end;
    }
    if (done < text.size()) on_text(text.substr(done));
}

}  // namespace weft::text
