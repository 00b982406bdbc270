// Figures as SVG: drawings made of shapes, and plots of numbers. Text only, the same bytes for the same values
// whatever the locale; every figure has a title for those who cannot see it, and stands on white.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::viz {

// Eight colours that stay apart for colour-blind readers (M. Okabe and K. Ito, 2008), the first one for most
// lines: 0 blue, 1 vermilion, 2 green, 3 purple, 4 sky blue, 5 orange, 6 yellow, 7 black; others begin anew.
std::string palette(std::size_t i);

// How a line is drawn.
struct Stroke {
    std::string colour = "#222";  // as SVG takes it
    double width = 1.5;           // in pixels
    bool dashed = false;          // else drawn through
};
// How a text is set.
struct Label {
    double size = 13;               // of the type, in pixels
    std::string anchor = "middle";  // start, middle, end: what of the text stands at x
    std::string colour = "#222";    // as SVG takes it
    bool bold = false;              // else of the usual weight
    double rotate = 0;              // degrees, about its point
};
// How a box is drawn.
struct BoxStyle {
    std::string fill = "#eef3fa";             // the colour within
    Stroke stroke = {"#0072b2", 1.5, false};  // its border
    double radius = 5;                        // of its corners, in pixels
    Label label = {};                         // how its text is set
};
// How a grid of cells is drawn.
struct CellsStyle {
    std::vector<std::string> texts = {};  // instead of the values
    std::vector<std::string> fills = {};  // of each cell; white when left out
    bool viridis = false;                 // fills by value, between the smallest and the largest
    int digits = 3;                       // significant ones of the values
    double text_size = 12;                // of the type, in pixels
};

// A picture of shapes. Lengths are pixels, (0, 0) the upper left corner; what is drawn later lies above. Each
// call returns the drawing, so that calls can be chained. ValueError when a length is not finite or a size is
// not positive.
class Drawing {
public:
    // An empty one; the title is for those who cannot see it.
    Drawing(double width, double height, std::string title);

    // One line of text, its middle at height y.
    Drawing& text(double x, double y, const std::string& text, const Label& label = {});
    // From (x1, y1) to (x2, y2).
    Drawing& line(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    Drawing& arrow(double x1, double y1, double x2, double y2,
                   const Stroke& stroke = {});  // its head at (x2, y2)
    // A smooth arrow that leaves and arrives upright, for edges that pass others by.
    Drawing& bend(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // A path through points (x, y); `closed` fills it with the stroke's colour, thinly.
    Drawing& path(const std::vector<std::pair<double, double>>& points, const Stroke& stroke = {},
                  bool closed = false);
    // A disc with its middle at (x, y).
    Drawing& circle(double x, double y, double radius, const std::string& fill = "#0072b2");
    // A rectangle, (x, y) its upper left corner, with `text` in its middle; newlines in it begin a line.
    Drawing& box(double x, double y, double width, double height, const std::string& text,
                 const BoxStyle& style = {});
    // values (N) or (R, C) → a grid of cells, (x, y) its upper left corner, each `width` by `height`.
    // ShapeError for another rank, and where texts or fills are of another number than the cells.
    Drawing& cells(double x, double y, double width, double height, const Tensor& values,
                   const CellsStyle& style = {});

    double width() const { return width_; }    // in pixels
    double height() const { return height_; }  // in pixels
    std::string svg() const;                   // the picture so far

private:
    double width_, height_;
    std::string title_, body_;
};

// What a plot is, besides its values.
struct PlotOptions {
    std::string title = {}, x = {}, y = {};                        // of the plot and of its axes
    bool log_x = false, log_y = false;                             // logarithmic axes
    double width = 640, height = 400;                              // of the picture, in pixels
    std::pair<double, double> x_range = {0, 0}, y_range = {0, 0};  // {0, 0}: what the values take
    std::string legend =
        "right";  // right (beside the plot), or inside: top-right, top-left, bottom-right, bottom-left
};
// How a series is drawn.
struct LineStyle {
    std::string colour = {};  // the next of the palette when empty
    double width = 2;         // in pixels
    bool dashed = false;      // else drawn through
    bool markers = false;     // a dot at each value
};

// A plot with axes, round ticks and a legend of what has a label. Values that are not finite, or not positive
// on a logarithmic axis, leave a gap. ValueError: series whose x and y differ in length, ranges that are empty,
// a plot without any value (by svg()), bars on a logarithmic axis, widths that are not positive and finite.
class Plot {
public:
    explicit Plot(PlotOptions options);  // without values yet

    // The values joined by a line.
    Plot& line(const std::vector<double>& x, const std::vector<double>& y, const std::string& label = {},
               LineStyle style = {});
    // A dot at each value.
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

    // A word in the plot, its middle at height y; it does not widen the axes. Beside bars, x counts them from
    // 0. ValueError as Drawing::text.
    Plot& text(double x, double y, const std::string& text, const Label& label = {12});

    std::string svg() const;  // the picture; ValueError when there is no value in it

private:
    friend struct PlotPicture;
    struct Series {
        enum Kind { lines, dots, bar, across_x, across_y } kind;
        std::vector<double> x, y;
        std::string label;
        LineStyle style;
    };
    struct Word {
        double x, y;
        std::string text;
        Label label;
    };
    PlotOptions options_;
    std::vector<Series> series_;
    std::vector<Word> words_;
    std::vector<std::string> names_;  // of the bars
    Tensor field_;
    std::pair<double, double> field_x_, field_y_;
    int contours_ = 0;
    std::size_t colours_ = 0;  // taken from the palette

    Plot& add(const char* operation, Series series);
};

}  // namespace weft::viz
