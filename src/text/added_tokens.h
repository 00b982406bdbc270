// What every tokeniser does with ids.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

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

}  // namespace weft::text
