// Tokens that are found in a text before it is cut into pieces.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::text {

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
