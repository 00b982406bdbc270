// Indices and numbers in messages.
#pragma once

#include <string>

#include "weft/core/shape.h"

namespace weft::check {

// The index of the element that is `position`-th in row-major order: "(1, 0)".
std::string index_text(std::size_t position, const Shape& shape);

// In the fewest of at most `digits` significant digits, whatever the locale.
std::string number_text(double value, int digits = 17);

}  // namespace weft::check
