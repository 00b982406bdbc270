// What every tokeniser does with ids.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "text/byte_pairs.h"
#include "weft/text/tokenizer.h"

namespace weft::text {

// IndexError, beginning with `what`, unless 0 ≤ id < size.
void check_id(std::int64_t id, std::int64_t size, const std::string& what);

template <class Kind>
std::string decode_ids(const Kind& kind, const Ids& ids, const std::string& name) {
    const std::int64_t size = kind.vocab_size();
    const bool is_padded = std::is_same_v<Kind, PreTrainedTokenizer>;  // a model may have more ids
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || (ids[i] >= size && !is_padded))
            check_id(ids[i], size, name + ": the id at position " + std::to_string(i));
        text += kind.piece(ids[i]);
    }
    return text;
}

// Tokens that are found in a text before it is cut into pieces.

struct AddedToken {
    std::string content;
    std::int64_t id = 0;
    bool special = false, single_word = false;  // single_word: no letter, mark or digit beside it
    bool lstrip = false, rstrip = false;        // takes the white space before it, after it
};

class AddedTokens {
public:
    static constexpr std::size_t longest = 1024;  // bytes of a token; a search takes as many steps a position

    AddedTokens() = default;
    explicit AddedTokens(std::vector<AddedToken> tokens);

    // Visits the text and the tokens in it, in order: the leftmost, of those at one position the longest.
    // Special ones only if parse_special.
    void split(std::string_view text, bool parse_special, const std::function<void(std::string_view)>& on_text,
               const std::function<void(std::int64_t)>& on_token) const;

private:
    std::vector<AddedToken> tokens_;  // by content
    std::array<bool, 256> begins_{};  // whether a token begins with this byte

    const AddedToken* longest_at(std::string_view text, std::size_t at) const;
};

// The data of a pre-trained tokenizer: the parts of a tokenizer.json, in the order in which a text passes them.

struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
};

struct PreTrainedTokenizer::Model {
    struct Normalizer {
        enum Kind { composed, prepend, replace } kind;
        std::string from, to;
    };
    // Puts `prefix` before a text that does not begin with it and cuts at the pattern's matches.
    struct PreTokenizer {
        enum Behavior { isolated, removed, contiguous, merged_with_previous, merged_with_next };
        std::optional<Pattern> pattern;
        Behavior behavior = isolated;
        bool invert = false;        // cuts at what does not match
        std::string prefix, space;  // space: what first replaces each space, unless empty
        bool first_only = false;    // the prefix only where the text begins
    };

    std::vector<std::string> pieces;       // what each id adds to a decoded text
    std::vector<bool> is_added, is_taken;  // by id; an id that is not taken has no token
    std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>
        ids;                                                  // of the tokens that pieces of text become
    std::unordered_map<std::string, std::int64_t> piece_ids;  // by what decoding shows; added tokens first
    Merges merges;
    std::vector<Merge> by_score;  // by id: itself, with SentencePiece's scores as ranks. Else empty
    std::size_t longest = 0;      // bytes of the longest token with a rank
    std::array<std::int64_t, 256> byte_ids = no_bytes();   // of the tokens of one byte, −1: there is none
    std::array<std::int64_t, 256> ascii_ids = no_bytes();  // what ids has for each character below 128
    bool byte_level = false;                               // symbols are bytes, not characters
    bool ignore_merges = false;  // a piece that is a token is not merged from its parts
    bool cuts_words = false;     // no merge crosses from another character to ▁
    bool fuse_unknown = false;
    bool merges_past_unknown = true;  // what has no token goes before merging, in llama.cpp after it
    std::optional<std::int64_t> unknown;

    std::vector<Normalizer> normalizers;
    AddedTokens added, added_normalized;
    std::vector<PreTokenizer> pre_tokenizers;
    Ids before, after;                    // the special tokens around a text
    std::string strip_left, strip_right;  // what decode takes away from the text, if it begins or ends with it
    std::string strip_first;              // what it takes away everywhere in the first token

    std::optional<std::int64_t> bos, eos;
    Ids ends;

    static std::array<std::int64_t, 256> no_bytes() {
        std::array<std::int64_t, 256> ids;
        ids.fill(-1);
        return ids;
    }
    // Gives a token its id. False if the id is taken.
    bool add(std::int64_t id, const std::string& piece, bool is_an_added);
    void set(std::int64_t id, const std::string& piece, bool is_an_added);  // also if the id is taken
    // Counts the single bytes without a token.
    std::size_t missing_bytes() const {
        return static_cast<std::size_t>(std::count(byte_ids.begin(), byte_ids.end(), -1));
    }
    // Sets what follows from the rest, and the ids that end a text.
    void finish();
};

using TokenizerModel = PreTrainedTokenizer::Model;

// The byte of a token <0x00> … <0xFF>, −1: it is another.
int byte_of(const std::string& token);
std::string replaced(std::string_view text, const std::string& from, const std::string& to);
std::string normalized(const PreTrainedTokenizer::Model& model, std::string_view text);

}  // namespace weft::text
