// Internal: Text in columns, for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Returns the columns that a UTF-8 text takes in a terminal: two for an East Asian character or an emoji, none
// for a combining accent, one for a byte that is not UTF-8.
std::size_t display_width(std::string_view text);

// Returns the text with spaces appended up to that many columns.
std::string pad_right(const std::string& text, std::size_t to);

// Returns a line per row, with cells left-aligned and two spaces apart, and no trailing spaces.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace weft
