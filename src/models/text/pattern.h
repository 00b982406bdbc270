// How GPT-2 cuts a text into pieces; byte pairs are merged only within a piece.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::text {

// The end of the piece that begins at `at` < text.size(), by GPT-2's pattern (openai/gpt-2, encoder.py),
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// which matches at every position. Bytes that are not UTF-8 count as neither letter, number nor space.
std::size_t piece_end(std::string_view text, std::size_t at);

}  // namespace weft::text
