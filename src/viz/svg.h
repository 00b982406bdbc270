// The vocabulary of every SVG picture. Lengths are pixels; no shape has an id, so that a page may hold many
// pictures.
#pragma once

#include <climits>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "viz/text.h"
#include "weft/viz/figure.h"

namespace weft::viz {

struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    std::string hex() const;  // "#440154"
    bool is_dark() const;     // white text reads better on it than black
    friend bool operator==(const Colour&, const Colour&) = default;
};
Colour colour_of(std::uint32_t rgb);                           // 0x440154
Colour mixed(const Colour& a, const Colour& b, double share);  // a + share · (b − a)

// The viridis colour map of S. van der Walt and N. Smith (2015, matplotlib, released under CC0), whose
// lightness rises evenly, so equal steps of weight look like equal steps of light. `share` is clamped to 0 … 1,
// and colours are interpolated linearly between every 17th of the map's 256.
Colour viridis(double share);

using Points = std::vector<std::pair<double, double>>;

struct Fill {
    std::string colour = "none";
    double opacity = 1;
};
inline const Stroke no_stroke = {{}, 0, false};

// The start of a picture on white, and its end.
std::string svg_start(double width, double height, const std::string& title, const std::string& defs = "",
                      const char* font = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif");
std::string svg_end();

std::string svg_text(double x, double y, const std::string& text, const Label& label);  // one line
double text_width(const std::string& text, double size);  // at least what most sans-serif fonts take

std::string points_data(const Points& points, bool closed = false);  // "M1 2L3 4Z"
std::string path_shape(const std::string& data, const Stroke& stroke, const Fill& fill = {});
std::string line_shape(double x1, double y1, double x2, double y2, const Stroke& stroke);
std::string rect_shape(double x, double y, double width, double height, const Fill& fill,
                       const Stroke& stroke = no_stroke, double radius = 0);
std::string circle_shape(double x, double y, double radius, const std::string& fill,
                         const Stroke& stroke = no_stroke);

// Path data for each level of a grid's cells, cell (r, c) from (x(c), y(r)) to (x(c + 1), y(r + 1)); neighbours
// of one level in a row are one piece, and `no_level` is left out. A path for each cell would make megabytes.
constexpr int no_level = INT_MIN;
using Position = std::function<std::int64_t(std::int64_t)>;
std::map<int, std::string> cell_paths(std::int64_t rows, std::int64_t columns,
                                      const std::function<int(std::int64_t, std::int64_t)>& level,
                                      const Position& x, const Position& y);

std::string power_of_ten(int exponent);                // "10⁻³"
std::string figure_number(double value, int digits);   // "−0.25", "1.5·10⁻⁷", "∞"
std::string fixed_number(double value, int decimals);  // "−0.50": exactly that many after the point

// ValueError in the name of `operation` for a number that is not finite, or a label that cannot be set.
void check_finite(const char* operation, std::initializer_list<double> lengths);
void check_positive(const char* operation, const char* what, double size);
void check_label(const char* operation, const Label& label);

}  // namespace weft::viz
