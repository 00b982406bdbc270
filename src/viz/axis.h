// One axis of a plot and its ticks, the plotting area, and contour lines.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "viz/svg.h"
#include "weft/viz/figure.h"

namespace weft::viz {

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

    // plot_content.cpp: the field behind everything, lines, points and bars
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
