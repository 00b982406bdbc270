// Figures as SVG on white: drawings made of shapes, and plots of numbers. The same values give the same bytes
// in every locale. Each figure has a title for readers who cannot see it.
//
//     viz::Plot plot({.title = "Loss", .x = "step", .log_y = true});
//     plot.line(steps, losses, "training").horizontal(1.0, "target");
//     io::save_text("loss.svg", plot.svg());
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::viz {

// Colour i mod 8 of eight that colour-blind readers can tell apart (M. Okabe and K. Ito, 2008): 0 blue,
// 1 vermilion, 2 green, 3 purple, 4 sky blue, 5 orange, 6 yellow, 7 black.
std::string palette(std::size_t i);

// The style of a line.
struct Stroke {
    std::string colour = "#222";  // any colour of SVG
    double width = 1.5;           // in pixels
    bool dashed = false;          // or solid
};
// The style of a text.
struct Label {
    double size = 13;               // of the font, in pixels
    std::string anchor = "middle";  // the part of the text that is at x: start, middle or end
    std::string colour = "#222";    // any colour of SVG
    bool bold = false;              // or of normal weight
    double rotate = 0;              // degrees clockwise, about its point
};
// The style of a box.
struct BoxStyle {
    std::string fill = "#eef3fa";             // the colour inside
    Stroke stroke = {"#0072b2", 1.5, false};  // its border
    double radius = 5;                        // of its corners, in pixels
    Label label = {};                         // the style of its text
};
// The style of a grid of cells.
struct CellsStyle {
    std::vector<std::string> texts = {};  // instead of the values
    std::vector<std::string> fills = {};  // of each cell; empty: white
    bool viridis = false;                 // fills by value, from the smallest to the largest
    int digits = 3;                       // significant digits of the values
    double text_size = 12;                // of the font, in pixels
};

// A picture of shapes. Lengths are in pixels, (0, 0) is the upper left corner, and later shapes cover earlier
// ones. Each call returns the drawing, so that calls can be chained. ValueError if a length is not finite or a
// size not positive.
class Drawing {
public:
    // An empty drawing; the title is for readers who cannot see it.
    Drawing(double width, double height, std::string title);

    // One line of text, centred vertically on y.
    Drawing& text(double x, double y, const std::string& text, const Label& label = {});
    // A line from (x1, y1) to (x2, y2).
    Drawing& line(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // The same with an arrowhead at (x2, y2); ValueError if both points are equal.
    Drawing& arrow(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // A curved arrow that starts and ends vertically, for edges that go around others.
    Drawing& bend(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // A path through two or more points (x, y); if `closed`, filled with a light tint of the stroke's colour.
    Drawing& path(const std::vector<std::pair<double, double>>& points, const Stroke& stroke = {},
                  bool closed = false);
    // A disc with its centre at (x, y).
    Drawing& circle(double x, double y, double radius, const std::string& fill = "#0072b2");
    // A rectangle, (x, y) its upper left corner, with `text` in its middle, which may have several lines.
    Drawing& box(double x, double y, double width, double height, const std::string& text,
                 const BoxStyle& style = {});
    // values (N) or (R, C) → a grid of cells, (x, y) its upper left corner, each `width` by `height`.
    // ShapeError for another rank, and if the number of texts or fills is neither 0 nor that of the cells.
    Drawing& cells(double x, double y, double width, double height, const Tensor& values,
                   const CellsStyle& style = {});

    double width() const { return width_; }    // in pixels
    double height() const { return height_; }  // in pixels
    std::string svg() const;                   // the picture so far

private:
    double width_, height_;
    std::string title_, body_;
};

// Options of a plot.
struct PlotOptions {
    std::string title = {}, x = {}, y = {};                        // of the plot and of its axes
    bool log_x = false, log_y = false;                             // logarithmic axes
    double width = 640, height = 400;                              // of the picture, in pixels
    std::pair<double, double> x_range = {0, 0}, y_range = {0, 0};  // {0, 0}: the range of the values
    std::string legend =
        "right";  // right (beside the plot), or inside: top-right, top-left, bottom-right, bottom-left
};
// The style of a series.
struct LineStyle {
    std::string colour = {};  // empty: the next of the palette
    double width = 2;         // in pixels
    bool dashed = false;      // or solid
    bool markers = false;     // a dot at each value
};

// A plot with axes, round ticks and a legend of the series with a label. Values that are not finite, or not
// positive on a logarithmic axis, leave a gap. ValueError for series whose x and y differ in length, empty
// ranges, a plot without any value (by svg()), bars on a logarithmic axis, and widths that are not positive and
// finite.
class Plot {
public:
    explicit Plot(PlotOptions options);  // an empty plot

    // The points (x, y) joined by a line.
    Plot& line(const std::vector<double>& x, const std::vector<double>& y, const std::string& label = {},
               LineStyle style = {});
    // A dot at each point (x, y).
    Plot& points(const std::vector<double>& x, const std::vector<double>& y, const std::string& label = {},
                 LineStyle style = {});
    // A bar at each name; each further call adds a bar to every group. Later calls give the same names, or {}.
    // ValueError if the number of values is not that of the names.
    Plot& bars(const std::vector<std::string>& names, const std::vector<double>& values,
               const std::string& label = {}, const std::string& colour = {});
    // values (R, C) as colours behind everything, or with `contours` > 0 as that many lines of equal value. The
    // R rows are evenly spaced from y_range.first to y_range.second, both included, and the C columns along
    // x_range. Values that are not finite stay white. ValueError for a second field or a logarithmic axis.
    Plot& field(const Tensor& values, std::pair<double, double> x_range, std::pair<double, double> y_range,
                int contours = 0);
    Plot& vertical(double x, const std::string& label = {}, LineStyle style = {});    // a line at x
    Plot& horizontal(double y, const std::string& label = {}, LineStyle style = {});  // a line at y

    // A text in the plot, centred vertically on y; it does not widen the axes. In a plot with bars, x counts
    // the names from 0. ValueError as Drawing::text.
    Plot& text(double x, double y, const std::string& text, const Label& label = {12});

    std::string svg() const;  // the picture; ValueError if it has no value

private:
    friend struct PlotPicture;
    struct Series {
        enum Kind { lines, dots, bar, vertical_line, horizontal_line } kind;
        std::vector<double> x, y;
        std::string label;
        LineStyle style;
    };
    struct Annotation {
        double x, y;
        std::string text;
        Label label;
    };
    PlotOptions options_;
    std::vector<Series> series_;
    std::vector<Annotation> annotations_;
    std::vector<std::string> names_;  // of the bars
    Tensor field_;
    std::pair<double, double> field_x_, field_y_;
    int contours_ = 0;
    std::size_t colours_ = 0;  // taken from the palette

    Plot& add(const char* operation, Series series);
};

}  // namespace weft::viz
