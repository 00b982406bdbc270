#include "viz/colour.h"

#include <algorithm>
#include <cmath>

namespace weft::viz {

std::string Colour::hex() const {
    constexpr const char* digits = "0123456789abcdef";
    std::string text = "#";
    for (const std::uint8_t part : {red, green, blue}) {
        text += digits[part >> 4];
        text += digits[part & 15];
    }
    return text;
}

bool Colour::is_dark() const {
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 140;  // luma of Rec. 709
}

Colour viridis(double share) {
    const double at = std::clamp(share, 0.0, 1.0) * (viridis_points.size() - 1);
    const auto low = std::min(static_cast<std::size_t>(at), viridis_points.size() - 2);
    const Colour &a = viridis_points[low], &b = viridis_points[low + 1];
    const auto between = [&](std::uint8_t from, std::uint8_t to) {
        return static_cast<std::uint8_t>(std::lround(from + (at - static_cast<double>(low)) * (to - from)));
    };
    return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

}  // namespace weft::viz
