#include "viz/colour.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/text.h"

namespace weft::viz {
namespace {

constexpr std::array<std::uint32_t, 16> viridis_points = {
    0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e, 0x2a788e, 0x23888e,
    0x1f988b, 0x22a884, 0x35b779, 0x54c568, 0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725};

}  // namespace

std::string Colour::hex() const {
    return "#" +
           text::chars(1u << 24 | std::uint32_t{red} << 16 | std::uint32_t{green} << 8 | blue, 16).substr(1);
}

bool Colour::is_dark() const {
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 140;  // luma of Rec. 709
}

Colour colour_of(std::uint32_t rgb) {
    const auto part = [rgb](int shift) { return static_cast<std::uint8_t>(rgb >> shift & 255); };
    return {part(16), part(8), part(0)};
}

Colour viridis(double share) {
    const double at = std::clamp(share, 0.0, 1.0) * (viridis_points.size() - 1);
    const auto low = std::min(static_cast<std::size_t>(at), viridis_points.size() - 2);
    const Colour a = colour_of(viridis_points[low]), b = colour_of(viridis_points[low + 1]);
    const auto between = [&](std::uint8_t from, std::uint8_t to) {
        return static_cast<std::uint8_t>(std::lround(from + (at - static_cast<double>(low)) * (to - from)));
    };
    return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

}  // namespace weft::viz
