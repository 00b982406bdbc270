// How GPT-2 cuts a text before byte pairs are merged, never across a cut.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::text {

// Where the piece that begins at `at` ends: the match of GPT-2's pattern (openai/gpt-2, encoder.py),
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// in which every text has one. Bytes that are not UTF-8 count as neither letter, number nor space.
std::size_t piece_end(std::string_view text, std::size_t at);  // at < text.size()

}  // namespace weft::text
