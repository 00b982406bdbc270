// Characters, Bytes, Tokenizer and Utf8Stream.
#include "weft/text/tokenizer.h"

#include <algorithm>
#include <cstdio>

#include "text/ids.h"
#include "weft/base/utf8.h"

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

}  // namespace weft::text
