// Characters, Bytes, Tokenizer and Utf8Stream.
#include "weft/text/tokenizer.h"

#include <utf8proc.h>
#include <algorithm>
#include <cstdio>

#include "text/pretrained.h"
#include "weft/base/text.h"

namespace weft::text {

namespace {

std::u32string characters_of(const std::string& text) {
    std::u32string characters;
    characters.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Decoded c = decode_at(text, at);
        if (c.kind != Decoded::character) {
            char byte[8];
            std::snprintf(byte, sizeof byte, "0x%02X",
                          static_cast<unsigned>(static_cast<unsigned char>(text[at])));
            throw ValueError("Characters: the text is not UTF-8: byte ", byte, " at offset ", at,
                             "; convert it first, UTF-16 by iconv -f UTF-16 -t UTF-8");
        }
        characters.push_back(c.value);
        at += c.length;
    }
    return characters;
}

std::string utf8_of(char32_t c) {
    std::string text;
    append_utf8(text, c);
    return text;
}

}  // namespace

void check_id(std::int64_t id, std::int64_t size, const std::string& what) {
    if (id < 0 || id >= size) throw IndexError(what, " is ", id, ", but the tokeniser has ids 0 … ", size - 1);
}

Characters::Characters(const std::string& text) : characters_(characters_of(text)) {
    std::sort(characters_.begin(), characters_.end());
    characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
}

std::string Characters::vocabulary() const {
    std::string text;
    for (const char32_t c : characters_) append_utf8(text, c);
    return text;
}

Ids Characters::encode(const std::string& text) const {
    Ids ids;
    for (const char32_t c : characters_of(text)) {
        const auto found = std::lower_bound(characters_.begin(), characters_.end(), c);
        if (found == characters_.end() || *found != c)
            throw ValueError("Characters: \"", excerpt(utf8_of(c)), "\" at position ", ids.size(),
                             " of the text is not one of the ", vocab_size(),
                             " known characters; remove it, or use the characters of a text that has it");
        ids.push_back(found - characters_.begin());
    }
    return ids;
}

std::string Characters::piece(std::int64_t id) const {
    check_id(id, vocab_size(), "Characters: the id");
    return utf8_of(characters_[static_cast<std::size_t>(id)]);
}

std::string Characters::decode(const Ids& ids) const { return decode_ids(*this, ids, "Characters"); }

Ids Bytes::encode(const std::string& text) const {
    Ids ids;
    ids.reserve(text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
}

std::string Bytes::piece(std::int64_t id) const {
    check_id(id, vocab_size(), "Bytes: the id");
    return std::string(1, static_cast<char>(id));
}

std::string Bytes::decode(const Ids& ids) const { return decode_ids(*this, ids, "Bytes"); }

std::int64_t Tokenizer::vocab_size() const {
    return std::visit([](const auto& kind) { return kind.vocab_size(); }, kind_);
}
Ids Tokenizer::encode(const std::string& text) const {
    return std::visit([&](const auto& kind) { return kind.encode(text); }, kind_);
}
std::string Tokenizer::piece(std::int64_t id) const {
    return std::visit([&](const auto& kind) { return kind.piece(id); }, kind_);
}
std::string Tokenizer::decode(const Ids& ids) const {
    return std::visit([&](const auto& kind) { return kind.decode(ids); }, kind_);
}
std::optional<std::int64_t> Tokenizer::eos_token_id() const {
    if (pre_trained() != nullptr) return pre_trained()->eos_token_id();
    const auto* pairs = std::get_if<BytePairs>(&kind_);
    return pairs != nullptr ? pairs->id_of(BytePairs::eos_token) : std::nullopt;
}

std::string Utf8Stream::push(const std::string& piece) {
    pending_ += piece;
    std::string text;
    std::size_t at = 0;
    while (at < pending_.size()) {
        const Decoded c = decode_at(pending_, at);
        if (c.kind == Decoded::cut) break;
        append_utf8(text, c.kind == Decoded::character ? c.value : U'\uFFFD');
        at += c.length;
    }
    pending_.erase(0, at);
    return text;
}

std::string Utf8Stream::finish() {
    const bool cut = !pending_.empty();
    pending_.clear();
    return cut ? utf8_of(U'\uFFFD') : "";
}

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
