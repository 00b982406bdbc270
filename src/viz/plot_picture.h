// The picture of a plot, piece by piece: the ranges of the axes, the room around the plotting area, and what
// stands in it.
#pragma once

#include "viz/axis.h"
#include "viz/shapes.h"
#include "weft/viz/figure.h"

namespace weft::viz {

struct PlotPicture {
    using Series = Plot::Series;
    static constexpr double small = 12, normal = 13;  // letters

    const Plot& plot;
    const PlotOptions& options;
    Axis x, y;
    Frame frame{};
    std::vector<Tick> x_ticks, y_ticks, bar_ticks;
    std::size_t groups = 0;     // bars at each name
    bool leaning = false;       // the bars' names
    std::vector<double> field;  // empty without one
    double field_low = INFINITY, field_high = -INFINITY;

    explicit PlotPicture(const Plot& plot);
    std::string svg() const;

    // plot_picture.cpp: the outside
    void set_ranges();
    void set_frame();
    std::string axes_svg() const;
    std::string grid_svg() const;
    std::vector<const Series*> in_legend() const;
    double legend_width() const;
    std::string legend_svg() const;

    // plot_field.cpp: what lies behind
    bool has_colours() const { return !field.empty() && plot.contours_ == 0; }
    double field_share(double value) const;  // where it is between the field's smallest and its largest
    double level(int contour) const;
    std::string contour_colour(int contour) const;
    std::string field_svg() const;
    std::string contours_svg() const;
    std::string colour_bar_svg() const;

    // plot_series.cpp: lines, points and bars
    Points pixels(const Series& s) const;
    std::string dots_svg(const Series& s) const;
    std::string line_svg(const Series& s) const;
    std::string bars_svg(const Series& s, std::size_t group) const;
    std::string across_svg(const Series& s, std::size_t& uprights) const;
    std::string words_svg() const;
};

}  // namespace weft::viz
