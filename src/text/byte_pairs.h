// The data of a byte pair encoding, how GPT-2 cuts a text into pieces, and how its files write bytes.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/merge.h"
#include "weft/text/tokenizer.h"

namespace weft::text {

struct BytePairs::Model {
    struct Merge {
        std::int64_t left, right, result;  // ids
    };
    std::vector<std::string> pieces;                    // the bytes of each token, by id
    std::unordered_map<std::string, std::int64_t> ids;  // id of each piece
    std::array<std::int64_t, 256> byte_ids;             // ids of the tokens that are one byte
    std::vector<Merge> merges;                          // in the order in which they were learned
    Merges ranks;                                       // the rank is the index in merges
    std::vector<std::string> special;

    bool is_special(const std::string& piece) const;
    void add_piece(const std::string& piece);  // gives the piece the next id
    void add_merge(const Merge& merge);
};

// Visits the pieces of a text, one after the other, by GPT-2's pattern (openai/gpt-2, encoder.py), which
// matches at every position. Bytes that are not UTF-8 count as neither letter, number nor space.
void for_each_piece(std::string_view text, const std::function<void(std::string_view)>& visit);

// GPT-2 writes a printable byte (! … ~, ¡ … ¬, ® … ÿ) as itself and the others, in order, as U+0100 and up.
std::string to_printable(const std::string& bytes);
// The inverse; empty if one of the characters is of no byte.
std::optional<std::string> from_printable(const std::string& name);
// Each byte as a string, in the order of those characters, with which trained vocabularies begin.
const std::vector<std::string>& single_bytes();

}  // namespace weft::text
