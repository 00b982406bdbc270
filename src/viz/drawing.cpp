#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "viz/colour.h"
#include "viz/shapes.h"
#include "viz/svg.h"
#include "viz/text.h"
#include "weft/viz/figure.h"

namespace weft::viz {
namespace {

// An arrow's head with its tip at (x, y), pointing along (dx, dy) of length 1; no longer than `room`.
struct Head {
    double length, width;
    Head(const Stroke& stroke, double room)
        : length(std::min(6 + 2.5 * stroke.width, room)), width(length * 0.8) {}
    std::string svg(double x, double y, double dx, double dy, const Stroke& stroke) const {
        const double bx = x - dx * length, by = y - dy * length, half = width / 2;
        return path_shape(
            points_data({{x, y}, {bx - dy * half, by + dx * half}, {bx + dy * half, by - dx * half}}, true),
            {{}, 0, false}, {stroke.colour, 1});
    }
};

// All elements of `values` as float64.
std::vector<double> numbers(const Tensor& values) { return values.detach().to(float64).to_vector<double>(); }

// What reads on a fill: white on the dark ones that are written as #rrggbb.
std::string ink_on(const std::string& fill) {
    unsigned value = 0;
    if (fill.size() != 7 || fill[0] != '#') return "#222";
    const auto [end, error] = std::from_chars(fill.data() + 1, fill.data() + 7, value, 16);
    if (error != std::errc() || end != fill.data() + 7) return "#222";
    const auto part = [&](int shift) { return static_cast<std::uint8_t>(value >> shift & 255); };
    return Colour{part(16), part(8), part(0)}.is_dark() ? "#fff" : "#222";
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t from = 0;
    for (std::size_t to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
        lines.push_back(text.substr(from, to - from));
    lines.push_back(text.substr(from));
    return lines;
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
    check_lengths_finite("Drawing::text", {x, y});
    check_label("Drawing::text", label);
    body_ += figure_text(x, y, text, label);
    return *this;
}

Drawing& Drawing::line(double x1, double y1, double x2, double y2, const Stroke& stroke) {
    check_lengths_finite("Drawing::line", {x1, y1, x2, y2});
    check_positive("Drawing::line", "the stroke's width", stroke.width);
    body_ += path_shape(points_data({{x1, y1}, {x2, y2}}), stroke);
    return *this;
}

Drawing& Drawing::arrow(double x1, double y1, double x2, double y2, const Stroke& stroke) {
    check_lengths_finite("Drawing::arrow", {x1, y1, x2, y2});
    check_positive("Drawing::arrow", "the stroke's width", stroke.width);
    const double length = std::hypot(x2 - x1, y2 - y1);
    check_positive("Drawing::arrow", "the length", length);
    const double dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    const Head head(stroke, length);
    const double to = head.length * 0.8;  // the line ends within the head, its tip stays sharp
    body_ += path_shape(points_data({{x1, y1}, {x2 - dx * to, y2 - dy * to}}), stroke) +
             head.svg(x2, y2, dx, dy, stroke);
    return *this;
}

Drawing& Drawing::bend(double x1, double y1, double x2, double y2, const Stroke& stroke) {
    check_lengths_finite("Drawing::bend", {x1, y1, x2, y2});
    check_positive("Drawing::bend", "the stroke's width", stroke.width);
    check_positive("Drawing::bend", "the length", std::hypot(x2 - x1, y2 - y1));
    const double down = y2 < y1 ? -1 : 1;
    const double reach = down * std::max(std::abs(y2 - y1) * 0.5, std::min(40.0, std::abs(x2 - x1) * 0.5));
    const Head head(stroke, std::max(std::abs(y2 - y1), std::abs(x2 - x1)));
    const double end = y2 - down * head.length * 0.8;
    const auto point = [](double x, double y) { return decimal(x) + " " + decimal(y); };
    body_ += path_shape("M" + point(x1, y1) + "C" + point(x1, y1 + reach) + " " + point(x2, end - reach) + " " +
                            point(x2, end),
                        stroke) +
             head.svg(x2, y2, 0, down, stroke);
    return *this;
}

Drawing& Drawing::path(const std::vector<std::pair<double, double>>& points, const Stroke& stroke,
                       bool closed) {
    if (points.size() < 2)
        throw ValueError("Drawing::path: " + std::to_string(points.size()) + " points; a path has two or more");
    for (const auto& [x, y] : points) check_lengths_finite("Drawing::path", {x, y});
    check_positive("Drawing::path", "the stroke's width", stroke.width);
    body_ += path_shape(points_data(points, closed), stroke, closed ? Fill{stroke.colour, 0.15} : Fill{});
    return *this;
}

Drawing& Drawing::circle(double x, double y, double radius, const std::string& fill) {
    check_lengths_finite("Drawing::circle", {x, y});
    check_positive("Drawing::circle", "the radius", radius);
    body_ += circle_shape(x, y, radius, fill);
    return *this;
}

Drawing& Drawing::box(double x, double y, double width, double height, const std::string& text,
                      const BoxStyle& style) {
    check_lengths_finite("Drawing::box", {x, y, style.radius, style.stroke.width});
    check_positive("Drawing::box", "the width", width);
    check_positive("Drawing::box", "the height", height);
    check_label("Drawing::box", style.label);
    body_ += rect_shape(x, y, width, height, {style.fill, 1}, style.stroke, style.radius);
    if (text.empty()) return *this;
    const std::vector<std::string> lines = lines_of(text);
    const double line_height = style.label.size * 1.3, count = static_cast<double>(lines.size());
    const double left = style.label.anchor == "start" ? x + 8
                        : style.label.anchor == "end" ? x + width - 8
                                                      : x + width / 2;
    for (std::size_t i = 0; i < lines.size(); ++i)
        body_ += figure_text(left, y + height / 2 + (static_cast<double>(i) - (count - 1) / 2) * line_height,
                             lines[i], style.label);
    return *this;
}

Drawing& Drawing::cells(double x, double y, double width, double height, const Tensor& values,
                        const CellsStyle& style) {
    check_lengths_finite("Drawing::cells", {x, y});
    check_positive("Drawing::cells", "a cell's width", width);
    check_positive("Drawing::cells", "a cell's height", height);
    check_positive("Drawing::cells", "the text's size", style.text_size);
    if (style.digits < 1 || style.digits > 17)
        throw ValueError("Drawing::cells: " + std::to_string(style.digits) + " digits; give 1 to 17");
    if (values.rank() != 1 && values.rank() != 2)
        throw ShapeError("Drawing::cells: values of shape " + values.shape().str() +
                         "; expected (N) or (R, C)");
    const auto count = static_cast<std::size_t>(values.numel());
    const auto fits = [&](const char* what, std::size_t given) {
        if (given != 0 && given != count)
            throw ShapeError("Drawing::cells: " + std::to_string(given) + " " + what + " for " +
                             std::to_string(count) + " cells; give one for each, or none");
    };
    fits("texts", style.texts.size());
    fits("fills", style.fills.size());

    const std::vector<double> shown = numbers(values);
    const auto columns = static_cast<std::size_t>(values.size(-1));
    double low = INFINITY, high = -INFINITY;
    for (const double value : shown)
        if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    for (std::size_t i = 0; i < count; ++i) {
        const double left = x + static_cast<double>(i % columns) * width;
        const double top = y + static_cast<double>(i / columns) * height;
        std::string fill = style.fills.empty() ? "#fff" : style.fills[i];
        if (style.viridis && style.fills.empty() && std::isfinite(shown[i]))
            fill = viridis(high > low ? (shown[i] - low) / (high - low) : 0.5).hex();
        body_ += rect_shape(left, top, width, height, {fill, 1}, {"#888", 1, false});
        const std::string text = style.texts.empty() ? figure_number(shown[i], style.digits) : style.texts[i];
        if (text.empty()) continue;
        const double fitting = style.text_size * (width - 4) / figure_text_width(text, style.text_size);
        body_ += figure_text(left + width / 2, top + height / 2, text,
                             {.size = std::clamp(fitting, std::min(6.0, style.text_size), style.text_size),
                              .colour = ink_on(fill)});
    }
    return *this;
}

std::string Drawing::svg() const { return figure_start(width_, height_, title_) + body_ + svg_end(); }

}  // namespace weft::viz
