// A pre-trained tokenizer: text to ids and back.
#include "text/pretrained.h"

#include <algorithm>
#include <charconv>
#include <deque>

#include "text/byte_pairs.h"
#include "weft/base/text.h"

namespace weft::text {

namespace {

constexpr std::string_view word_mark = "\u2581";  // ▁, SentencePiece's space

class TokenEncoder {
public:
    TokenEncoder(const TokenizerModel& model, Ids& ids) : model_(model), ids_(ids), seen_(ids) {}

    void append(std::string_view text, EncodeOptions options) {
        const auto on_token = [&](std::int64_t id) { ids_.push_back(id); };
        const auto* begin = text.data();
        const auto on_part = [&](std::string_view part) {
            const std::string_view normal = model_.normalizers.empty() ? part : keep(normalized(model_, part));
            model_.added_normalized.split(
                normal, options.parse_special,
                [&](std::string_view rest) {
                    pre_tokenize(0, rest,
                                 !options.continues && part.data() == begin && rest.data() == normal.data());
                },
                on_token);
        };
        model_.added.split(text, options.parse_special, on_part, on_token);
    }

private:
    const TokenizerModel& model_;
    Ids& ids_;
    PieceCache seen_;
    std::deque<std::string> kept_;  // texts of which seen_ knows pieces
    Merger merger_;

    std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

    // The pieces of a text from this step on; is_first: it begins the text.
    void pre_tokenize(std::size_t step, std::string_view text, bool is_first) {
        if (text.empty()) return;
        if (step == model_.pre_tokenizers.size()) return append_words(text);
        const TokenizerModel::PreTokenizer& by = model_.pre_tokenizers[step];
        if (!by.space.empty()) text = keep(replaced(text, " ", by.space));
        if (!text.starts_with(by.prefix) && (is_first || !by.first_only))
            text = keep(by.prefix + std::string(text));
        if (!by.pattern) return pre_tokenize(step + 1, text, is_first);

        const char* begin = text.data();
        std::string_view pending;
        bool was_match = false;
        const auto flush = [&] {
            pre_tokenize(step + 1, pending, is_first && pending.data() == begin);
            pending = {};
        };
        by.pattern->split(text, [&](std::string_view part, bool matches) {
            const bool is_match = matches != by.invert;
            if (by.behavior == TokenizerModel::PreTokenizer::removed && is_match) return;
            const bool joins =
                by.behavior == TokenizerModel::PreTokenizer::contiguous             ? is_match == was_match
                : by.behavior == TokenizerModel::PreTokenizer::merged_with_previous ? is_match && !was_match
                : by.behavior == TokenizerModel::PreTokenizer::merged_with_next     ? !is_match && was_match
                                                                                    : false;
            if (joins && !pending.empty()) {
                pending = {pending.data(), pending.size() + part.size()};
            } else {
                flush();
                pending = part;
            }
            was_match = is_match;
        });
        flush();
    }

    // A piece, in parts between which nothing can be merged.
    void append_words(std::string_view piece) {
        const auto encode = [&](std::string_view word) { append_word(word); };
        while (model_.cuts_words) {
            std::size_t end = 0;
            while (piece.substr(end).starts_with(word_mark)) end += word_mark.size();
            end = piece.find(word_mark, end);
            if (end == piece.npos) break;
            seen_.append(piece.substr(0, end), encode);
            piece.remove_prefix(end);
        }
        if (!piece.empty()) seen_.append(piece, encode);
    }

    std::int64_t id_of(std::string_view text) const {
        const auto found = model_.ids.find(text);
        return found == model_.ids.end() ? -1 : found->second;
    }
    std::int64_t byte_id(char byte) const { return model_.byte_ids[static_cast<unsigned char>(byte)]; }

    void append_word(std::string_view word) {
        if (model_.ignore_merges) {
            if (const std::int64_t id = id_of(word); id >= 0) return ids_.push_back(id);
        }
        using Symbol = Merger::Symbol;
        merger_.clear();
        bool was_unknown = false;
        for (std::size_t at = 0; at < word.size();) {
            const std::size_t n = model_.byte_level ? 1 : decode_at(word, at).length;
            const std::int64_t id = model_.byte_level ? byte_id(word[at])
                                    : n == 1          ? model_.ascii_ids[static_cast<unsigned char>(word[at])]
                                                      : id_of(word.substr(at, n));
            const bool as_bytes =
                !model_.byte_level && byte_id(word[at]) >= 0;  // there is a token for every byte
            if (id >= 0 || !model_.by_score.empty() || !model_.merges_past_unknown)
                merger_.add(id, at, n);
            else if (as_bytes)
                for (std::size_t i = 0; i < n; ++i) merger_.add(byte_id(word[at + i]), at + i, 1);
            else if (model_.unknown && !(was_unknown && model_.fuse_unknown))
                merger_.add(*model_.unknown, at, n);
            was_unknown = id < 0 && !as_bytes;
            at += n;
        }
        const auto by_pair = [&](const Symbol& left, const Symbol& right) {
            return model_.merges.find(pair_key(left.id, right.id));
        };
        const auto by_score = [&](const Symbol& left, const Symbol& right) {
            if (left.id >= 0 && right.id >= 0) return by_pair(left, right);
            const std::size_t n = left.length + right.length;  // of characters that are no tokens
            const std::int64_t id = n > model_.longest ? -1 : id_of(word.substr(left.begin, n));
            return id < 0 ? nullptr : &model_.by_score[static_cast<std::size_t>(id)];
        };
        was_unknown = false;
        const auto visit = [&](const Symbol& symbol) {
            const bool is_unknown = symbol.id < 0 && byte_id(word[symbol.begin]) < 0;
            if (symbol.id >= 0) ids_.push_back(symbol.id);
            for (std::size_t i = 0; symbol.id < 0 && !is_unknown && i < symbol.length; ++i)
                ids_.push_back(byte_id(word[symbol.begin + i]));
            if (is_unknown && !was_unknown && model_.unknown) ids_.push_back(*model_.unknown);
            was_unknown = is_unknown;
        };
        if (model_.by_score.empty())
            merger_.run(by_pair, visit);
        else
            merger_.run(by_score, visit);
    }
};

// The text with U+FFFD for what is not UTF-8.
std::string repaired_utf8(const std::string& text) {
    Utf8Stream stream;
    std::string result = stream.push(text);
    return result += stream.finish();
}

}  // namespace

int byte_of(const std::string& token) {
    int byte = 0;
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
    const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
    return error == std::errc() && end == token.data() + 5 ? byte : -1;
}

std::string replaced(std::string_view text, const std::string& from, const std::string& to) {
    std::string result;
    std::size_t done = 0;
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, done)) {
        result.append(text, done, at - done).append(to);
        done = at + from.size();
    }
    return result.append(text.substr(done));
}

std::string normalized(const TokenizerModel& model, std::string_view text) {
    std::string result(text);
    for (const TokenizerModel::Normalizer& by : model.normalizers) {
        if (by.kind == TokenizerModel::Normalizer::composed)
            result = nfc(result);
        else if (by.kind == TokenizerModel::Normalizer::replace)
            result = replaced(result, by.from, by.to);
        else if (!result.empty())
            result = by.to + result;
    }
    return result;
}

bool TokenizerModel::add(std::int64_t id, const std::string& piece, bool is_an_added) {
    const auto i = static_cast<std::size_t>(id);
    if (i >= pieces.size()) pieces.resize(i + 1), is_added.resize(i + 1), is_taken.resize(i + 1);
    if (is_taken[i]) return false;
    set(id, piece, is_an_added);
    return true;
}

void TokenizerModel::set(std::int64_t id, const std::string& piece, bool is_an_added) {
    const auto i = static_cast<std::size_t>(id);
    pieces[i] = piece;
    is_taken[i] = true;
    is_added[i] = is_an_added;
    if (is_an_added)
        piece_ids[piece] = id;
    else
        piece_ids.try_emplace(piece, id);
}

void TokenizerModel::finish() {
    // The tokens that end a text or a turn of a chat in published models (llama.cpp, src/llama-vocab.cpp).
    for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>",
                             "<|end|>", "<end_of_turn>", "<eos>", "</s>"}) {
        const auto found = piece_ids.find(name);
        if (found == piece_ids.end() || !is_added[static_cast<std::size_t>(found->second)]) continue;
        if (!eos) eos = found->second;
        ends.push_back(found->second);
    }
    if (eos) ends.insert(ends.begin(), *eos);
    for (auto i = ends.begin(); i != ends.end();)
        i = std::find(ends.begin(), i, *i) == i ? i + 1 : ends.erase(i);
    for (const auto& [token, id] : ids)
        if (token.size() == 1) ascii_ids[static_cast<unsigned char>(token[0])] = id;
    // Whether every token has ▁ only where it begins: then no merge leads from another character to ▁.
    const auto has_mark_inside = [](const auto& token) {
        std::string_view rest = token.first;
        while (rest.starts_with(word_mark)) rest.remove_prefix(word_mark.size());
        return rest.find(word_mark) != rest.npos;
    };
    cuts_words = !byte_level && !ignore_merges && ids.contains(std::string(word_mark)) &&
                 std::none_of(ids.begin(), ids.end(), has_mark_inside);
}

std::int64_t PreTrainedTokenizer::vocab_size() const {
    return static_cast<std::int64_t>(model_->pieces.size());
}

Ids PreTrainedTokenizer::encode(const std::string& text, EncodeOptions options) const {
    Ids ids;
    if (options.add_special_tokens) ids = model_->before;
    const std::string valid = is_utf8(text) ? std::string() : repaired_utf8(text);
    TokenEncoder(*model_, ids).append(valid.empty() ? text : valid, options);
    if (options.add_special_tokens) ids.insert(ids.end(), model_->after.begin(), model_->after.end());
    return ids;
}

std::string PreTrainedTokenizer::piece(std::int64_t id) const {
    if (id < 0) check_id(id, vocab_size(), "PreTrainedTokenizer: the id");
    return id < vocab_size() ? model_->pieces[static_cast<std::size_t>(id)] : "";
}

std::string PreTrainedTokenizer::decode(const Ids& ids) const {
    std::string text = decode_ids(*this, ids, "PreTrainedTokenizer");
    if (!ids.empty() && ids[0] < vocab_size() && !model_->strip_first.empty() &&
        !model_->is_added[static_cast<std::size_t>(ids[0])]) {
        const std::string first = piece(ids[0]);
        text.replace(0, first.size(), replaced(first, model_->strip_first, ""));
    }
    if (!model_->strip_left.empty() && text.starts_with(model_->strip_left))
        text.erase(0, model_->strip_left.size());
    if (!model_->strip_right.empty() && text.ends_with(model_->strip_right))
        text.resize(text.size() - model_->strip_right.size());
    return text;
}

std::optional<std::int64_t> PreTrainedTokenizer::id_of(const std::string& piece) const {
    const auto found = model_->piece_ids.find(piece);
    return found == model_->piece_ids.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> PreTrainedTokenizer::bos_token_id() const { return model_->bos; }
std::optional<std::int64_t> PreTrainedTokenizer::eos_token_id() const { return model_->eos; }
const Ids& PreTrainedTokenizer::end_token_ids() const { return model_->ends; }
bool PreTrainedTokenizer::adds_bos_token() const {
    return model_->bos && !model_->before.empty() && model_->before[0] == *model_->bos;
}

}  // namespace weft::text
