// The shapes that figures are made of, as SVG. Lengths are pixels; no shape has an id, so that pages may hold
// many figures.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "weft/viz/figure.h"

namespace weft::viz {

using Points = std::vector<std::pair<double, double>>;

struct Fill {
    std::string colour = "none";
    double opacity = 1;
};

std::string figure_start(double width, double height, const std::string& title);           // on white
std::string figure_text(double x, double y, const std::string& text, const Label& label);  // one line
double figure_text_width(const std::string& text, double size);  // no less than what most fonts take

std::string points_data(const Points& points, bool closed = false);  // "M1 2L3 4Z"
std::string path_shape(const std::string& data, const Stroke& stroke, const Fill& fill = {});
std::string rect_shape(double x, double y, double width, double height, const Fill& fill,
                       const Stroke& stroke = {{}, 0, false}, double radius = 0);
std::string circle_shape(double x, double y, double radius, const std::string& fill,
                         const Stroke& stroke = {{}, 0, false});

std::string power_of_ten(int exponent);                // "10⁻³"
std::string figure_number(double value, int digits);   // "−0.25", "1.5·10⁻⁷", "∞"
std::string fixed_number(double value, int decimals);  // "−0.50": exactly that many after the point

// ValueError in the name of `operation`.
void check_lengths_finite(const char* operation, std::initializer_list<double> lengths);
void check_positive(const char* operation, const char* what, double size);
void check_label(const char* operation, const Label& label);

}  // namespace weft::viz
