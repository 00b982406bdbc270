// Figures as SVG: drawings made of shapes, and plots of numbers. Text only, the same bytes for the same values
// whatever the locale; every figure has a title for those who cannot see it, and stands on white.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.h"

namespace weft::viz {

// Eight colours that stay apart for colour-blind readers (M. Okabe and K. Ito, 2008), the first one for most
// lines: 0 blue, 1 vermilion, 2 green, 3 purple, 4 sky blue, 5 orange, 6 yellow, 7 black; others begin anew.
std::string palette(std::size_t i);

struct Stroke {
    std::string colour = "#222";
    double width = 1.5;
    bool dashed = false;
};
struct Label {
    double size = 13;
    std::string anchor = "middle";  // start, middle, end: what of the text stands at x
    std::string colour = "#222";
    bool bold = false;
    double rotate = 0;  // degrees, about its point
};
struct BoxStyle {
    std::string fill = "#eef3fa";
    Stroke stroke = {"#0072b2", 1.5, false};
    double radius = 5;
    Label label = {};
};
struct CellsStyle {
    std::vector<std::string> texts = {};  // instead of the values
    std::vector<std::string> fills = {};  // of each cell; white when left out
    bool viridis = false;                 // fills by value, between the smallest and the largest
    int digits = 3;                       // significant ones of the values
    double text_size = 12;
};

// A picture of shapes. Lengths are pixels, (0, 0) the upper left corner; what is drawn later lies above. Each
// call returns the drawing, so that calls can be chained. ValueError when a length is not finite or a size is
// not positive.
class Drawing {
public:
    Drawing(double width, double height, std::string title);

    // One line of text, its middle at height y.
    Drawing& text(double x, double y, const std::string& text, const Label& label = {});
    Drawing& line(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    Drawing& arrow(double x1, double y1, double x2, double y2,
                   const Stroke& stroke = {});  // its head at (x2, y2)
    // A smooth arrow that leaves and arrives upright, for edges that pass others by.
    Drawing& bend(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // A path through points (x, y); `closed` fills it with the stroke's colour, thinly.
    Drawing& path(const std::vector<std::pair<double, double>>& points, const Stroke& stroke = {},
                  bool closed = false);
    Drawing& circle(double x, double y, double radius, const std::string& fill = "#0072b2");
    // A rectangle, (x, y) its upper left corner, with `text` in its middle; newlines in it begin a line.
    Drawing& box(double x, double y, double width, double height, const std::string& text,
                 const BoxStyle& style = {});
    // values (N) or (R, C) → a grid of cells, (x, y) its upper left corner, each `width` by `height`.
    // ShapeError for another rank, and where texts or fills are of another number than the cells.
    Drawing& cells(double x, double y, double width, double height, const Tensor& values,
                   const CellsStyle& style = {});

    double width() const { return width_; }
    double height() const { return height_; }
    std::string svg() const;

private:
    double width_, height_;
    std::string title_, body_;
};

struct PlotOptions {
    std::string title = {}, x = {}, y = {};  // of the plot and of its axes
    bool log_x = false, log_y = false;
    double width = 640, height = 400;
    std::pair<double, double> x_range = {0, 0}, y_range = {0, 0};  // {0, 0}: what the values take
    std::string legend =
        "right";  // right (beside the plot), or inside: top-right, top-left, bottom-right, bottom-left
};
struct LineStyle {
    std::string colour = {};  // the next of the palette when empty
    double width = 2;
    bool dashed = false, markers = false;
};

// A plot with axes, round ticks and a legend of what has a label. Values that are not finite, or not positive
// on a logarithmic axis, leave a gap. ValueError: series whose x and y differ in length, ranges that are empty,
// a plot without any value (by svg()), bars on a logarithmic axis, widths that are not positive and finite.
class Plot {
public:
    explicit Plot(PlotOptions options);

    Plot& line(const std::vector<double>& x, const std::vector<double>& y, const std::string& label = {},
               LineStyle style = {});
    Plot& points(const std::vector<double>& x, const std::vector<double>& y, const std::string& label = {},
                 LineStyle style = {});
    // A group of bars beside each other at each name: one per call, of as many values as the first call's
    // names. The names may be left out, {}, after that.
    Plot& bars(const std::vector<std::string>& names, const std::vector<double>& values,
               const std::string& label = {}, const std::string& colour = {});
    // values (R, C) as a field of colours behind everything; with `contours`, that many lines of equal value
    // instead. Row r is at the r-th of R even steps from y_range.first to y_range.second, columns so along x;
    // both ends are included. Values that are not finite stay white. At most one, and on linear axes:
    // ValueError.
    Plot& field(const Tensor& values, std::pair<double, double> x_range, std::pair<double, double> y_range,
                int contours = 0);
    Plot& vertical(double x, const std::string& label = {}, LineStyle style = {});    // a line across
    Plot& horizontal(double y, const std::string& label = {}, LineStyle style = {});  // the same, lying

    std::string svg() const;

private:
    friend struct PlotPicture;
    struct Series {
        enum Kind { lines, dots, bar, across_x, across_y } kind;
        std::vector<double> x, y;
        std::string label;
        LineStyle style;
    };
    PlotOptions options_;
    std::vector<Series> series_;
    std::vector<std::string> names_;  // of the bars
    Tensor field_;
    std::pair<double, double> field_x_, field_y_;
    int contours_ = 0;
    std::size_t colours_ = 0;  // taken from the palette

    std::string next_colour(const std::string& given);
};

}  // namespace weft::viz
