// Text that reads the same on a terminal, in SVG and in every locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/table.h"
#include "weft/core/text.h"

namespace weft::viz {

using text::display_width, text::number, text::pad_right, text::table;

std::string decimal(double value);  // "12.5": at most two digits after the point, to keep SVG short
std::string repeated(std::string_view text, std::size_t times);
std::string pad_left(const std::string& text, std::size_t to);   // spaces before it, up to `to` columns
std::string truncated(const std::string& text, std::size_t to);  // to `to` columns, ending in … if cut

// The text with newlines as ↵, tabs as ⇥, and other control characters and bytes that are not UTF-8 as escapes.
std::string shown(std::string_view text);
// The same for a token, with the spaces at its ends as ␣.
std::string visible(std::string_view token);

std::string xml(std::string_view text);  // with & < > " ' escaped

// Visible labels of T queries and S keys: those given; the queries' for the keys too if T = S; or positions
// from
// 1. ShapeError in the name of `operation` if their number differs.
struct Labels {
    std::vector<std::string> queries, keys;
};
Labels labels_of(const char* operation, const std::vector<std::string>& queries,
                 const std::vector<std::string>& keys, std::int64_t T, std::int64_t S);

}  // namespace weft::viz
