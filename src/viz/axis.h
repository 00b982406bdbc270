// The shapes that all SVG pictures consist of. Lengths are in pixels.
#pragma once

#include <climits>
#include <cmath>
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

// One axis of a plot and its ticks, the plotting area, and contour lines.

// A number on an axis, at 1, 2 or 5 times a power of ten.
struct Tick {
    double value;
    std::string label;  // empty: a short tick between labelled ones
};

// About `max_ticks` round numbers in low … high; both are finite, low < high, and positive if logarithmic.
std::vector<Tick> linear_ticks(double low, double high, double max_ticks);
std::vector<Tick> logarithmic_ticks(double low, double high, double max_ticks);

using Range = std::pair<double, double>;
constexpr Range automatic = {0, 0};
std::string range_text(const Range& range);  // "0 … 1"

// Maps the values low … high to the pixels from … to.
struct Axis {
    bool logarithmic = false;
    double low = INFINITY, high = -INFINITY;
    double from = 0, to = 1;

    static constexpr double min_positive = 1e-300;  // on a logarithmic axis: smaller values have too few digits
    bool holds(double value) const { return std::isfinite(value) && (!logarithmic || value >= min_positive); }
    bool shows(double value) const { return holds(value) && value >= low && value <= high; }
    void take(double value) {
        if (holds(value)) low = std::min(low, value), high = std::max(high, value);
    }
    double share(double value) const {
        return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    }
    double shade(double value) const { return high > low ? share(value) : 0.5; }  // for a colour map
    double at(double value) const { return from + share(value) * (to - from); }

    void widen(double below, double above);  // adds margins, given as shares of the extent
    std::vector<Tick> ticks(double pixels_each) const;
};

struct Frame {
    double left, top, right, bottom;
    bool has(double x, double y) const {
        constexpr double slack = 1e-6;
        return x >= left - slack && x <= right + slack && y >= top - slack && y <= bottom + slack;
    }
};

// The part of a path within the frame. A point that is not finite makes a gap; one between two gaps is a dot.
std::string clipped_data(const Frame& frame, const Points& points);

// values (rows, columns), row-major → the lines where the field, interpolated linearly along the edges of the
// grid, equals `level`, as points (column, row). A closed line ends where it begins. No line enters a cell with
// a value that is not finite. Marching squares (W. Lorensen and H. Cline, 1987, in two dimensions); the mean of
// a cell decides how lines pass a saddle.
std::vector<Points> contour_lines(const std::vector<double>& values, std::size_t rows, std::size_t columns,
                                  double level);

// The picture of a plot: the ranges of its axes, the frame of the plotting area, and what is drawn in it.

struct PlotPicture {
    using Series = Plot::Series;
    static constexpr double small = 12, normal = 13;  // font sizes
    inline static const Stroke dark = {"#444", 1, false};

    const Plot& plot;
    const PlotOptions& options;
    Axis x, y, values;  // `values`: the colours of the field
    Frame frame{};
    std::vector<Tick> x_ticks, y_ticks, bar_ticks;
    std::vector<const Series*> in_legend;
    std::size_t groups = 0;      // bars per name
    bool rotated_names = false;  // names of bars
    std::vector<double> field;   // empty if there is none

    explicit PlotPicture(const Plot& plot);
    std::string svg() const;

    // plot_picture.cpp: everything around the plotting area
    void set_ranges();
    void set_frame();
    std::string axes_svg() const;
    std::string grid_svg() const;
    double legend_width() const;
    std::string legend_svg() const;

    // plot.cpp: the field behind everything, lines, points and bars
    bool has_colours() const { return !field.empty() && plot.contours_ == 0; }
    double level(int contour) const;
    std::string contour_colour(int contour) const;
    std::string field_svg() const;
    std::string contours_svg() const;
    std::string colour_bar_svg() const;
    Points pixels(const Series& s) const;
    std::string dots_svg(const Series& s) const;
    std::string line_svg(const Series& s) const;
    std::string bars_svg(const Series& s, std::size_t group) const;
    std::string reference_line_svg(const Series& s, std::size_t& uprights) const;
};

}  // namespace weft::viz
