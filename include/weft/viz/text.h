// Internal: Text for terminals and SVG, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace weft::viz {

std::string decimal(double value);  // "12.5": at most two decimals, to keep SVG short
std::string repeated(std::string_view text, std::size_t times);
std::string pad_left(const std::string& text, std::size_t to);   // pads with spaces in front, to `to` columns
std::string truncated(const std::string& text, std::size_t to);  // at most `to` columns, ending in … if cut

// Shows newlines as ↵, tabs as ⇥, and other control characters and bytes that are not UTF-8 as escapes.
std::string shown(std::string_view text);
// The same, with spaces at either end as ␣.
std::string visible(std::string_view token);

std::string xml(std::string_view text);  // escapes & < > " '

}  // namespace weft::viz
