// Colours of a share between 0 and 1.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace weft::viz {

struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    std::string hex() const;  // "#440154"
    bool is_dark() const;     // white text reads better on it than black
    friend bool operator==(const Colour&, const Colour&) = default;
};

// The viridis colour map of S. van der Walt and N. Smith (2015, matplotlib, released under CC0): every 17th of
// its 256 colours. Its lightness rises evenly, so equal steps of weight look like equal steps of light.
inline constexpr std::array<Colour, 16> viridis_points = {{{68, 1, 84},
                                                           {72, 26, 108},
                                                           {71, 47, 125},
                                                           {65, 68, 135},
                                                           {57, 86, 140},
                                                           {49, 104, 142},
                                                           {42, 120, 142},
                                                           {35, 136, 142},
                                                           {31, 152, 139},
                                                           {34, 168, 132},
                                                           {53, 183, 121},
                                                           {84, 197, 104},
                                                           {122, 209, 81},
                                                           {165, 219, 54},
                                                           {210, 226, 27},
                                                           {253, 231, 37}}};

// The colour of `share`, held to 0 … 1, on the straight lines between the points.
Colour viridis(double share);

}  // namespace weft::viz
