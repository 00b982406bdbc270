// Unicode's composed form.
#pragma once

#include <string>
#include <string_view>

namespace weft::text {

// Normalization Form C of a UTF-8 text (Unicode Standard Annex #15): é, whether written as one character or as
// e with an accent, as one. By Unicode 9, as in the tokenizers crate: marks since then are letters.
std::string nfc(std::string_view text);

}  // namespace weft::text
