// The pieces that SVG pictures of attention are made of. Lengths are in pixels.
#pragma once

#include <string>
#include <vector>

namespace weft::viz {

constexpr double character = 0.602;  // the width of a character of the label font, as a part of its size

struct TextStyle {
    double size = 12;
    const char* anchor = "start";  // start, middle, end
    const char* fill = "#222";
    double rotate = 0;  // degrees, about its point
    bool bold = false;
};
// One line of text, its middle at height y; `text` is escaped here.
std::string svg_text(double x, double y, const std::string& text, const TextStyle& style = {});

double text_width(const std::string& text, double size);

// How the labels of equal cells are written: in a column beside their rows, or above their columns, upright
// where they are too wide to lie. Every step-th only, where cells are smaller than letters; long ones are
// shortened.
struct LabelLayout {
    double size = 12;   // of the font
    double extent = 0;  // the room they take, away from the cells
    bool upright = false;
    std::size_t step = 1;
};
LabelLayout label_layout(const std::vector<std::string>& labels, double cell, bool beside);
// Beside: they end at x, the first cell starts at y. Above: they end at y, the first cell starts at x.
std::string labels_svg(const std::vector<std::string>& labels, const LabelLayout& layout, double x, double y,
                       double cell, bool beside);

// The start of a picture on white, with the fill "blocked" (a hatch) and the gradient "viridis"; and its end.
std::string svg_start(double width, double height, const std::string& title);
std::string svg_end();

constexpr double colour_bar_width = 96;  // with its numbers
// A bar from 0 (below) to `top` (above), x and y its upper left corner; beneath it what hatched and red cells
// are.
std::string colour_bar(double x, double y, double height, double top, bool has_mask, bool leaks);
double legend_height(bool has_mask, bool leaks);  // of what is beneath the bar

}  // namespace weft::viz
