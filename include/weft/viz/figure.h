// Figures as SVG on a white background: drawings made of shapes, and plots of numbers. The same values give
// the same bytes in every locale. Each figure has a title for screen readers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::viz {

// Colour i mod 8, as "#rrggbb", of eight that colour-blind readers can tell apart (M. Okabe and K. Ito, 2008):
// 0 blue, 1 vermilion, 2 green, 3 purple, 4 sky blue, 5 orange, 6 yellow, 7 black.
//
//     const std::string vermilion = viz::palette(1);  // "#d55e00"
std::string palette(std::size_t i);

// The style of a line.
//
//     const viz::Stroke dashed{.colour = viz::palette(2), .dashed = true};
//     const viz::Label small{.size = 11, .anchor = "start"};
//     const viz::BoxStyle round{.radius = 20, .label = small};
//     const viz::CellsStyle coloured{.viridis = true, .digits = 2};
//     viz::Drawing drawing(300, 100, "Styles");
//     drawing.line(10, 10, 290, 10, dashed).box(10, 20, 100, 40, "round", round);
//     drawing.cells(120, 20, 40, 40, tensor({0.1, 0.5, 0.9}), coloured);
struct Stroke {
    std::string colour = "#222";  // any SVG colour
    double width = 1.5;           // in pixels
    bool dashed = false;          // otherwise solid
};
// The style of a text.
struct Label {
    double size = 13;               // font size in pixels
    std::string anchor = "middle";  // the part of the text at x: start, middle or end
    std::string colour = "#222";    // any SVG colour
    bool bold = false;              // otherwise of normal weight
    double rotate = 0;              // degrees clockwise, about (x, y)
};
// The style of a box.
struct BoxStyle {
    std::string fill = "#eef3fa";             // background colour
    Stroke stroke = {"#0072b2", 1.5, false};  // border
    double radius = 5;                        // corner radius in pixels
    Label label = {};                         // style of the text
};
// The style of a grid of cells.
struct CellsStyle {
    std::vector<std::string> texts = {};  // one per cell, shown instead of the values
    std::vector<std::string> fills = {};  // one colour per cell; empty: white
    bool viridis = false;                 // colour cells by value, from the smallest to the largest
    int digits = 3;                       // significant digits of the values, 1 to 17
    double text_size = 12;                // font size in pixels
};

// A picture made of shapes, of which later ones cover earlier ones. Lengths are in pixels from the upper left
// corner. Every call returns the drawing. ValueError if a length is not finite or a size is not positive.
//
//     viz::Drawing drawing(200, 60, "y = tanh(x)");
//     drawing.box(10, 10, 40, 40, "x").arrow(50, 30, 100, 30).box(100, 10, 90, 40, "tanh(x)");
//     io::save_text("tanh.svg", drawing.svg());
class Drawing {
public:
    // An empty drawing. The title is not drawn; it is what a screen reader reads.
    Drawing(double width, double height, std::string title);

    // One line of text, vertically centred on y. ValueError for an unknown anchor.
    Drawing& text(double x, double y, const std::string& text, const Label& label = {});
    // A line from (x1, y1) to (x2, y2).
    Drawing& line(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // A line with an arrowhead at (x2, y2). ValueError if the points are equal.
    Drawing& arrow(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // A curved arrow that starts and ends vertically, to go around others. ValueError if the points are equal.
    Drawing& bend(double x1, double y1, double x2, double y2, const Stroke& stroke = {});
    // A path through the points (x, y); if `closed`, filled with a light tint of the stroke's colour.
    // ValueError for fewer than two points.
    Drawing& path(const std::vector<std::pair<double, double>>& points, const Stroke& stroke = {},
                  bool closed = false);
    // A disc with centre (x, y).
    Drawing& circle(double x, double y, double radius, const std::string& fill = "#0072b2");
    // A rectangle with upper left corner (x, y) and centred text, which may have several lines.
    Drawing& box(double x, double y, double width, double height, const std::string& text,
                 const BoxStyle& style = {});
    // values (N) or (R, C) → a grid of cells, each `width` by `height`, with upper left corner (x, y).
    // ShapeError for another rank, or if `texts` or `fills` is neither empty nor one per cell.
    Drawing& cells(double x, double y, double width, double height, const Tensor& values,
                   const CellsStyle& style = {});

    double width() const { return width_; }    // in pixels
    double height() const { return height_; }  // in pixels
    std::string svg() const;                   // the drawing so far

private:
    double width_, height_;
    std::string title_, body_;
};

// Options of a plot.
struct PlotOptions {
    std::string title = {}, x = {}, y = {};                        // titles of the plot and of its axes
    bool log_x = false, log_y = false;                             // logarithmic axes
    double width = 640, height = 400;                              // in pixels, at least 120
    std::pair<double, double> x_range = {0, 0}, y_range = {0, 0};  // {0, 0}: the range of the values
    // beside the plot: right; inside it: top-right, top-left, bottom-right or bottom-left
    std::string legend = "right";
};
// The style of a series.
//
//     const viz::LineStyle thin{.width = 1, .dashed = true, .markers = true};
//     viz::Plot plot({.title = "A thin line"});
//     plot.line({0, 1, 2}, {1, 4, 9}, "squares", thin);
struct LineStyle {
    std::string colour = {};  // any SVG colour; empty: the next of the palette
    double width = 2;         // in pixels
    bool dashed = false;      // otherwise solid
    bool markers = false;     // a dot at each value
};

// A plot with axes, round ticks, and a legend of the labelled series. Values that are not finite, or not
// positive on a logarithmic axis, leave a gap. Every call returns the plot. ValueError if x and y differ in
// length, a range is empty, a width is not positive and finite, or bars meet a logarithmic axis.
//
//     viz::Plot plot({.title = "Loss", .x = "step", .log_y = true});
//     plot.line(steps, losses, "training").horizontal(1.0, "target");
//     io::save_text("loss.svg", plot.svg());
class Plot {
public:
    // An empty plot. ValueError for options that do not fit, such as a width below 120.
    explicit Plot(PlotOptions options);

    // The points (x, y) joined by a line.
    Plot& line(const std::vector<double>& x, const std::vector<double>& y, const std::string& label = {},
               LineStyle style = {});
    // A dot at each point (x, y).
    Plot& points(const std::vector<double>& x, const std::vector<double>& y, const std::string& label = {},
                 LineStyle style = {});
    // A bar for each name; every further call adds a bar to each group and passes the same names, or {}.
    // ValueError unless there is one value per name.
    //
    //     viz::Plot bars({.title = "Mean weight", .y = "weight"});
    //     bars.bars({"head 1", "head 2"}, {0.9, 0.2}, "previous").bars({}, {0.1, 0.7}, "first");
    Plot& bars(const std::vector<std::string>& names, const std::vector<double>& values,
               const std::string& label = {}, const std::string& colour = {});
    // values (R, C) as colours behind everything else or, if 0 < `contours` ≤ 100, as that many lines of equal
    // value. The R rows are evenly spaced from y_range.first to y_range.second, both included, and the C
    // columns likewise along x_range. Values that are not finite stay white. ShapeError for another rank or too
    // few values; ValueError for a second field or a logarithmic axis.
    //
    //     viz::Plot bowl({.title = "x² + y²"});
    //     const Tensor x = arange(-10, 11, 1, float32) / 10;                    // (21,)
    //     bowl.field(pow(x.unsqueeze(1), 2) + pow(x, 2), {-1, 1}, {-1, 1}, 5);  // 21 × 21 values
    Plot& field(const Tensor& values, std::pair<double, double> x_range, std::pair<double, double> y_range,
                int contours = 0);
    Plot& vertical(double x, const std::string& label = {}, LineStyle style = {});    // a vertical line at x
    Plot& horizontal(double y, const std::string& label = {}, LineStyle style = {});  // a horizontal line at y

    // Text in the plot, vertically centred on y; it does not widen the axes. In a plot with bars, x counts the
    // names from 0. ValueError as for Drawing::text.
    Plot& text(double x, double y, const std::string& text, const Label& label = {12});

    // The picture. ValueError if there is no value to draw or no room for the plot beside its labels.
    std::string svg() const;

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
    std::vector<std::string> names_;  // names of the bars
    Tensor field_;
    std::pair<double, double> field_x_, field_y_;
    int contours_ = 0;
    std::size_t colours_ = 0;  // used from the palette

    Plot& add(const char* operation, Series series);
};

}  // namespace weft::viz
