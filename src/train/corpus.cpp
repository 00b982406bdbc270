#include "text.h"

#include <algorithm>
#include <cstdio>

#include "weft/core/error.h"
#include "weft/models/io.h"

namespace {

// How many bytes the character that begins with `first` takes; 0 where none begins so.
int length_of(unsigned char first) {
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first < 0xE0) return 2;  // C0 and C1 would be longer than they need to be
    if (first >= 0xE0 && first < 0xF0) return 3;
    return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

[[noreturn]] void refuse(const std::string& source, std::size_t offset, unsigned char byte) {
    char text[64];
    std::snprintf(text, sizeof text, ": byte 0x%02X at offset %zu is not UTF-8", byte, offset);
    throw weft::IoError(source + text + "; convert it first, for example with iconv");
}

// The character at `at`, which moves behind it.
char32_t next_character(const std::string& text, std::size_t& at, const std::string& source) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned first = byte(at);
    const int length = length_of(static_cast<unsigned char>(first));
    if (length == 0) refuse(source, at, static_cast<unsigned char>(first));
    char32_t character = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (int i = 1; i < length; ++i) {
        const unsigned next = byte(at + static_cast<std::size_t>(i));
        if ((next & 0xC0) != 0x80) refuse(source, at, static_cast<unsigned char>(first));
        character = character << 6 | (next & 0x3F);
    }
    const bool too_long = (length == 3 && character < 0x800) || (length == 4 && character < 0x10000);
    const bool surrogate = character >= 0xD800 && character < 0xE000;
    if (too_long || surrogate || character > 0x10FFFF) refuse(source, at, static_cast<unsigned char>(first));
    at += static_cast<std::size_t>(length);
    return character;
}

// Without a byte-order mark, and with LF for CR LF.
std::u32string cleaned(const std::u32string& raw) {
    std::u32string text;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        const bool mark = i == 0 && raw[i] == 0xFEFF;
        const bool before_line_feed = raw[i] == U'\r' && i + 1 < raw.size() && raw[i + 1] == U'\n';
        if (!mark && !before_line_feed) text.push_back(raw[i]);
    }
    return text;
}

Batch batch_at(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& starts, std::int64_t T) {
    std::vector<std::int64_t> inputs, targets;
    for (const std::int64_t start : starts) {
        inputs.insert(inputs.end(), ids.begin() + start, ids.begin() + start + T);
        targets.insert(targets.end(), ids.begin() + start + 1, ids.begin() + start + T + 1);
    }
    const weft::Shape shape{static_cast<std::int64_t>(starts.size()), T};
    return {weft::from_vector(inputs, shape), weft::from_vector(targets, shape)};
}

}  // namespace

std::u32string decode(const std::string& text, const std::string& source) {
    std::u32string characters;
    characters.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) characters.push_back(next_character(text, at, source));
    return characters;
}

std::string encode(const std::u32string& characters) {
    std::string text;
    const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
    const auto put_rest = [&](char32_t c, int bytes) {
        for (int shift = 6 * (bytes - 1); shift >= 0; shift -= 6) put(0x80 | (c >> shift & 0x3F));
    };
    for (const char32_t c : characters) {
        if (c < 0x80)
            put(c);
        else if (c < 0x800)
            put(0xC0 | c >> 6), put_rest(c, 1);
        else if (c < 0x10000)
            put(0xE0 | c >> 12), put_rest(c, 2);
        else
            put(0xF0 | c >> 18), put_rest(c, 3);
    }
    return text;
}

std::u32string read_text(const std::vector<std::filesystem::path>& paths) {
    std::u32string text;
    for (const auto& path : paths) {
        const std::u32string part = cleaned(decode(weft::io::load_text(path), path.string()));
        if (part.empty()) throw weft::IoError("cannot learn from " + path.string() + ": it is empty");
        text += part;
    }
    return text;
}

std::uint64_t fingerprint(const std::u32string& text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char32_t c : text) hash = (hash ^ c) * 0x100000001b3;
    return hash;
}

Vocabulary::Vocabulary(const std::u32string& text) : characters_(text) {
    std::sort(characters_.begin(), characters_.end());
    characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
    for (const char32_t c : characters_) ids_.emplace(c, static_cast<std::int64_t>(ids_.size()));
}

std::vector<std::int64_t> Vocabulary::ids_of(const std::u32string& text, const std::string& source) const {
    std::vector<std::int64_t> ids;
    ids.reserve(text.size());
    for (const char32_t c : text) {
        const auto found = ids_.find(c);
        if (found == ids_.end())
            throw weft::ValueError(source + ": the character \"" + encode({c}) + "\" at place " +
                                   std::to_string(ids.size()) + " is none of the " + std::to_string(size()) +
                                   " that the model knows; take it out, or train a new model on a text that "
                                   "has it");
        ids.push_back(found->second);
    }
    return ids;
}

std::string Vocabulary::text_of(const std::vector<std::int64_t>& ids) const {
    std::u32string text;
    for (const std::int64_t id : ids) text.push_back(characters_.at(static_cast<std::size_t>(id)));
    return encode(text);
}

Corpus::Corpus(const std::vector<std::int64_t>& ids, std::int64_t block_size) : block_size_(block_size) {
    const auto n = static_cast<std::int64_t>(ids.size());
    if (n <= 10 * block_size)  // then ⌈n / 10⌉, the held-out tenth, is at most block_size
        throw weft::ValueError("the text has " + std::to_string(n) + " characters; with --block_size " +
                               std::to_string(block_size) + " it needs at least " +
                               std::to_string(10 * block_size + 1) + ", because a tenth is held out");
    const std::int64_t cut = n / 10 * 9 + n % 10 * 9 / 10;  // ⌊0.9 n⌋
    training_.assign(ids.begin(), ids.begin() + cut);
    held_out_.assign(ids.begin() + cut, ids.end());
}

void Corpus::draw_pass(std::int64_t pass, std::uint64_t seed) {
    if (pass == pass_) return;
    const auto bits = weft::philox(seed, static_cast<std::uint64_t>(pass));
    weft::Rng rng(bits[0] | std::uint64_t{bits[1]} << 32);
    const std::int64_t offset = rng.randint(0, block_size_);
    starts_.resize(static_cast<std::size_t>((training_size() - block_size_) / block_size_));
    for (std::size_t i = 0; i < starts_.size(); ++i) {  // each new block changes places with one before it
        const auto j = static_cast<std::size_t>(rng.randint(0, static_cast<std::int64_t>(i) + 1));
        starts_[i] = starts_[j];
        starts_[j] = offset + static_cast<std::int64_t>(i) * block_size_;
    }
    pass_ = pass;
}

Batch Corpus::training_batch(std::int64_t step, std::int64_t batch, std::uint64_t seed) {
    const std::int64_t blocks = (training_size() - block_size_) / block_size_;
    std::vector<std::int64_t> starts;
    for (std::int64_t i = step * batch; i < (step + 1) * batch; ++i) {
        draw_pass(i / blocks, seed);
        starts.push_back(starts_[static_cast<std::size_t>(i % blocks)]);
    }
    return batch_at(training_, starts, block_size_);
}

std::vector<Batch> Corpus::held_out_batches(std::int64_t batch, std::int64_t limit) const {
    const std::int64_t blocks = (held_out_size() - 1) / block_size_;
    const std::int64_t used = blocks <= limit * batch ? blocks : limit * batch;
    std::vector<Batch> batches;
    for (std::int64_t first = 0; first < used; first += batch) {
        std::vector<std::int64_t> starts;
        for (std::int64_t i = first; i < std::min(first + batch, used); ++i)
            starts.push_back(i * blocks / used * block_size_);
        batches.push_back(batch_at(held_out_, starts, block_size_));
    }
    return batches;
}
