// Colours of a share between 0 and 1.
#pragma once

#include <cstdint>
#include <string>

namespace weft::viz {

struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    std::string hex() const;  // "#440154"
    bool is_dark() const;     // white text reads better on it than black
    friend bool operator==(const Colour&, const Colour&) = default;
};
Colour colour_of(std::uint32_t rgb);  // 0x440154

// The viridis colour map of S. van der Walt and N. Smith (2015, matplotlib, released under CC0), whose
// lightness rises evenly, so equal steps of weight look like equal steps of light. `share` is clamped to 0 … 1,
// and colours are interpolated linearly between every 17th of the map's 256.
Colour viridis(double share);

}  // namespace weft::viz
