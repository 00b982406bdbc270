#include "text.h"

#include <array>
#include <charconv>

namespace weft::check {

std::string index_text(std::size_t position, const Shape& shape) {
    Shape index = Shape::filled(shape.rank(), 0);
    auto left = static_cast<std::int64_t>(position);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        index[axis] = left % shape[axis];
        left /= shape[axis];
    }
    return index.str();
}

std::string number_text(double value, int digits) {
    std::array<char, 64> text;
    const auto end = digits >= 17 ? std::to_chars(text.data(), text.data() + text.size(), value)
                                  : std::to_chars(text.data(), text.data() + text.size(), value,
                                                  std::chars_format::general, digits);
    return std::string(text.data(), end.ptr);
}

}  // namespace weft::check
