// How GPT-2 cuts a text into pieces; byte pairs are merged only within a piece.
#pragma once

#include <string_view>
#include <vector>

namespace weft::text {

// The pieces of a text, one after the other, by GPT-2's pattern (openai/gpt-2, encoder.py), which matches at
// every position. Bytes that are not UTF-8 count as neither letter, number nor space.
std::vector<std::string_view> pieces_of(std::string_view text);

}  // namespace weft::text
