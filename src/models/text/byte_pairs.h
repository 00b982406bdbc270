// What a byte pair encoding is made of, and the characters its files write bytes with.
#pragma once

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/models/tokenizer.h"

namespace weft::text {

struct BytePairs::Model {
    struct Merge {
        std::int64_t left, right, result;  // ids
    };
    std::vector<std::string> pieces;                       // the bytes of each token, by id
    std::unordered_map<std::string, std::int64_t> ids;     // and back
    std::array<std::int64_t, 256> byte_ids;                // of the tokens that are one byte
    std::vector<Merge> merges;                             // in the order in which they were learned
    std::unordered_map<std::uint64_t, std::size_t> ranks;  // pair_key → index in merges
    std::vector<std::string> special;

    void add_piece(const std::string& piece);  // under the next id
    void add_merge(const Merge& merge);
};

inline std::uint64_t pair_key(std::int64_t left, std::int64_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
}

// GPT-2 writes a byte as itself where it can be printed (! … ~, ¡ … ¬, ® … ÿ), the others in order from U+0100
// on. `bytes_in_order` are those of the characters' order, in which trained vocabularies begin.
const std::array<char32_t, 256>& printable_of_byte();
const std::array<unsigned char, 256>& bytes_in_order();
std::string to_printable(const std::string& bytes);

}  // namespace weft::text
