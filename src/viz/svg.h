// The vocabulary of every SVG picture. Lengths are pixels; no shape has an id, so that a page may hold many
// pictures.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "viz/text.h"
#include "weft/viz/figure.h"

namespace weft::viz {

using Points = std::vector<std::pair<double, double>>;

struct Fill {
    std::string colour = "none";
    double opacity = 1;
};
inline const Stroke no_stroke = {{}, 0, false};

// The start of a picture on white, and its end.
std::string svg_start(double width, double height, const std::string& title, const std::string& defs = "",
                      const char* font = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif");
std::string svg_end();

std::string svg_text(double x, double y, const std::string& text, const Label& label);  // one line
double text_width(const std::string& text, double size);  // at least what most sans-serif fonts take

std::string points_data(const Points& points, bool closed = false);  // "M1 2L3 4Z"
std::string path_shape(const std::string& data, const Stroke& stroke, const Fill& fill = {});
std::string line_shape(double x1, double y1, double x2, double y2, const Stroke& stroke);
std::string rect_shape(double x, double y, double width, double height, const Fill& fill,
                       const Stroke& stroke = no_stroke, double radius = 0);
std::string circle_shape(double x, double y, double radius, const std::string& fill,
                         const Stroke& stroke = no_stroke);

std::string power_of_ten(int exponent);                // "10⁻³"
std::string figure_number(double value, int digits);   // "−0.25", "1.5·10⁻⁷", "∞"
std::string fixed_number(double value, int decimals);  // "−0.50": exactly that many after the point

// ValueError in the name of `operation` for a number that is not finite, or a label that cannot be set.
void check_finite(const char* operation, std::initializer_list<double> lengths);
void check_positive(const char* operation, const char* what, double size);
void check_label(const char* operation, const Label& label);

}  // namespace weft::viz
