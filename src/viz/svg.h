// The shapes that all SVG pictures consist of. Lengths are in pixels.
#pragma once

#include <climits>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/viz/attention_map.h"
#include "weft/viz/figure.h"

namespace weft::viz {

struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    std::string hex() const;  // "#440154"
    bool is_dark() const;     // whether white text is easier to read on it than black
    friend bool operator==(const Colour&, const Colour&) = default;
};
Colour colour_of(std::uint32_t rgb);                           // 0x440154
Colour mixed(const Colour& a, const Colour& b, double share);  // a + share · (b − a)

// The colour map viridis by S. van der Walt and N. Smith (2015, matplotlib, CC0): its lightness rises evenly,
// so equal differences look equal. Linear between every 17th of its 256 colours; `share` is clamped to 0 … 1.
Colour viridis(double share);

using Point = std::pair<double, double>;
using Points = std::vector<Point>;

struct Fill {
    std::string colour = "none";
    double opacity = 1;
};
inline const Stroke no_stroke = {{}, 0, false};

// The whole picture: `content` on a white background.
std::string svg_picture(double width, double height, const std::string& title, const std::string& content,
                        const std::string& defs = "",
                        const char* font = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif");

std::string svg_text(double x, double y, const std::string& text, const Label& label);  // one line
double text_width(const std::string& text, double size);  // an upper bound for most sans-serif fonts

std::string point_data(const Point& point);                          // "1 2"
std::string points_data(const Points& points, bool closed = false);  // "M1 2L3 4Z"
std::string path_shape(const std::string& data, const Stroke& stroke, const Fill& fill = {});
std::string line_shape(double x1, double y1, double x2, double y2, const Stroke& stroke);
std::string rect_shape(double x, double y, double width, double height, const Fill& fill,
                       const Stroke& stroke = no_stroke, double radius = 0);
std::string circle_shape(double x, double y, double radius, const std::string& fill,
                         const Stroke& stroke = no_stroke);

// Path data for each level of a grid, where cell (r, c) extends from (x(c), y(r)) to (x(c + 1), y(r + 1)).
// Neighbours of one level in a row are one piece, which saves megabytes; `no_level` is left out.
constexpr int no_level = INT_MIN;
using Position = std::function<std::int64_t(std::int64_t)>;
std::map<int, std::string> cell_paths(std::int64_t rows, std::int64_t columns,
                                      const std::function<int(std::int64_t, std::int64_t)>& level,
                                      const Position& x, const Position& y);

std::string power_of_ten(int exponent);                // "10⁻³"
std::string figure_number(double value, int digits);   // "−0.25", "1.5·10⁻⁷", "∞"
std::string fixed_number(double value, int decimals);  // "−0.50"

// ValueError in the name of `operation` if a number is not finite or not positive, or a label does not fit.
void check_finite(const char* operation, std::initializer_list<double> lengths);
void check_positive(const char* operation, const char* what, double size);
void check_label(const char* operation, const Label& label);

}  // namespace weft::viz
