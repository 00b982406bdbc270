// The picture of a plot: the ranges of its axes, the frame of the plotting area, and what is drawn in it.
#pragma once

#include "viz/axis.h"
#include "weft/viz/figure.h"

namespace weft::viz {

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
