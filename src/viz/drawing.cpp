#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "viz/axis.h"
#include "weft/base/text.h"

namespace weft::viz {
namespace {

double head_length(const Stroke& stroke, double room) { return std::min(6 + 2.5 * stroke.width, room); }

// An arrowhead with its tip at (x, y) that points along the unit vector (dx, dy).
std::string head_shape(double x, double y, double dx, double dy, double length, const Stroke& stroke) {
    const double bx = x - dx * length, by = y - dy * length, half = length * 0.8 / 2;
    return path_shape(
        points_data({{x, y}, {bx - dy * half, by + dx * half}, {bx + dy * half, by - dx * half}}, true),
        no_stroke, {stroke.colour});
}

// The colour of text on a fill: white if the fill is written as #rrggbb and dark.
std::string ink_on(const std::string& fill) {
    std::uint32_t value = 0;
    const char *const start = fill.data(), *const end = start + fill.size();
    if (fill.size() != 7 || fill[0] != '#' || std::from_chars(start + 1, end, value, 16).ptr != end)
        return "#222";
    return colour_of(value).is_dark() ? "#fff" : "#222";
}

}  // namespace

std::string palette(std::size_t i) {
    constexpr std::array<const char*, 8> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#56b4e9", "#e69f00", "#f0e442", "#000000"};
    return colours[i % colours.size()];
}

Drawing::Drawing(double width, double height, std::string title)
    : width_(width), height_(height), title_(std::move(title)) {
    check_positive("Drawing", "the width", width);
    check_positive("Drawing", "the height", height);
}

Drawing& Drawing::text(double x, double y, const std::string& text, const Label& label) {
    check_finite("Drawing::text", {x, y});
    check_label("Drawing::text", label);
    body_ += svg_text(x, y, text, label);
    return *this;
}

Drawing& Drawing::line(double x1, double y1, double x2, double y2, const Stroke& stroke) {
    check_finite("Drawing::line", {x1, y1, x2, y2});
    check_positive("Drawing::line", "the stroke's width", stroke.width);
    body_ += line_shape(x1, y1, x2, y2, stroke);
    return *this;
}

Drawing& Drawing::arrow(double x1, double y1, double x2, double y2, const Stroke& stroke) {
    check_finite("Drawing::arrow", {x1, y1, x2, y2});
    check_positive("Drawing::arrow", "the stroke's width", stroke.width);
    const double length = std::hypot(x2 - x1, y2 - y1);
    check_positive("Drawing::arrow", "the length", length);
    const double dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    const double head = head_length(stroke, length), to = head * 0.8;  // a line up to the tip would blunt it
    body_ += line_shape(x1, y1, x2 - dx * to, y2 - dy * to, stroke) + head_shape(x2, y2, dx, dy, head, stroke);
    return *this;
}

Drawing& Drawing::bend(double x1, double y1, double x2, double y2, const Stroke& stroke) {
    check_finite("Drawing::bend", {x1, y1, x2, y2});
    check_positive("Drawing::bend", "the stroke's width", stroke.width);
    check_positive("Drawing::bend", "the length", std::hypot(x2 - x1, y2 - y1));
    const double down = y2 < y1 ? -1 : 1;
    const double reach = down * std::max(std::abs(y2 - y1) * 0.5, std::min(40.0, std::abs(x2 - x1) * 0.5));
    const double head = head_length(stroke, std::max(std::abs(y2 - y1), std::abs(x2 - x1)));
    const double end = y2 - down * head * 0.8;
    body_ += path_shape("M" + point_data({x1, y1}) + "C" + point_data({x1, y1 + reach}) + " " +
                            point_data({x2, end - reach}) + " " + point_data({x2, end}),
                        stroke) +
             head_shape(x2, y2, 0, down, head, stroke);
    return *this;
}

Drawing& Drawing::path(const std::vector<std::pair<double, double>>& points, const Stroke& stroke,
                       bool closed) {
    if (points.size() < 2) throw ValueError("Drawing::path: ", points.size(), " points; give two or more");
    for (const auto& [x, y] : points) check_finite("Drawing::path", {x, y});
    check_positive("Drawing::path", "the stroke's width", stroke.width);
    body_ += path_shape(points_data(points, closed), stroke, closed ? Fill{stroke.colour, 0.15} : Fill{});
    return *this;
}

Drawing& Drawing::circle(double x, double y, double radius, const std::string& fill) {
    check_finite("Drawing::circle", {x, y});
    check_positive("Drawing::circle", "the radius", radius);
    body_ += circle_shape(x, y, radius, fill);
    return *this;
}

Drawing& Drawing::box(double x, double y, double width, double height, const std::string& text,
                      const BoxStyle& style) {
    check_finite("Drawing::box", {x, y, style.radius, style.stroke.width});
    check_positive("Drawing::box", "the width", width);
    check_positive("Drawing::box", "the height", height);
    check_label("Drawing::box", style.label);
    body_ += rect_shape(x, y, width, height, {style.fill}, style.stroke, style.radius);
    if (text.empty()) return *this;
    std::istringstream all(text + "\n");
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    const double line_height = style.label.size * 1.3, count = static_cast<double>(lines.size());
    const double left = style.label.anchor == "start" ? x + 8
                        : style.label.anchor == "end" ? x + width - 8
                                                      : x + width / 2;
    for (std::size_t i = 0; i < lines.size(); ++i)
        body_ += svg_text(left, y + height / 2 + (static_cast<double>(i) - (count - 1) / 2) * line_height,
                          lines[i], style.label);
    return *this;
}

Drawing& Drawing::cells(double x, double y, double width, double height, const Tensor& values,
                        const CellsStyle& style) {
    check_finite("Drawing::cells", {x, y});
    check_positive("Drawing::cells", "a cell's width", width);
    check_positive("Drawing::cells", "a cell's height", height);
    check_positive("Drawing::cells", "the text's size", style.text_size);
    if (style.digits < 1 || style.digits > 17)
        throw ValueError("Drawing::cells: ", style.digits, " digits; give 1 to 17");
    if (values.rank() != 1 && values.rank() != 2)
        throw ShapeError("Drawing::cells: values of shape ", values.shape(), "; expected (N) or (R, C)");
    const auto count = static_cast<std::size_t>(values.numel());
    const auto fits = [&](const char* what, std::size_t given) {
        if (given != 0 && given != count)
            throw ShapeError("Drawing::cells: ", given, " ", what, " for ", count,
                             " cells; give one for each, or none");
    };
    fits("texts", style.texts.size());
    fits("fills", style.fills.size());

    const std::vector<double> shown = values.detach().to(float64).to_vector<double>();
    const auto columns = static_cast<std::size_t>(values.size(-1));
    Axis range;
    for (const double value : shown) range.take(value);
    for (std::size_t i = 0; i < count; ++i) {
        const double left = x + static_cast<double>(i % columns) * width;
        const double top = y + static_cast<double>(i / columns) * height;
        std::string fill = style.fills.empty() ? "#fff" : style.fills[i];
        if (style.viridis && style.fills.empty() && std::isfinite(shown[i]))
            fill = viridis(range.shade(shown[i])).hex();
        body_ += rect_shape(left, top, width, height, {fill}, {"#888", 1, false});
        const std::string text = style.texts.empty() ? figure_number(shown[i], style.digits) : style.texts[i];
        if (text.empty()) continue;
        const double fitting = style.text_size * (width - 4) / text_width(text, style.text_size);
        body_ += svg_text(left + width / 2, top + height / 2, text,
                          {.size = std::clamp(fitting, std::min(6.0, style.text_size), style.text_size),
                           .colour = ink_on(fill)});
    }
    return *this;
}

std::string Drawing::svg() const { return svg_picture(width_, height_, title_, body_); }

}  // namespace weft::viz
