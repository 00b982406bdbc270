#include <algorithm>
#include <array>
#include <cmath>

#include "viz/axis.h"
#include "weft/base/text.h"

namespace weft::viz {
namespace {

// Text on a nearly opaque white background, for labels within the plot.
std::string backed_text(double x, double y, const std::string& text, const Label& label) {
    const double width = text_width(text, label.size) + 6;
    const double left = label.anchor == "end" ? x - width + 3 : x - 3;
    return rect_shape(left, y - label.size * 0.65, width, label.size * 1.3, {"#fff", 0.8}) +
           svg_text(x, y, text, label);
}

// The position on an axis of the i-th of `count` values of the field.
double node(const Range& range, double i, std::int64_t count) {
    return range.first + (range.second - range.first) * i / static_cast<double>(count - 1);
}

}  // namespace

double PlotPicture::level(int contour) const {
    return values.low + (values.high - values.low) * (contour + 1) / (plot.contours_ + 1);
}

std::string PlotPicture::contour_colour(int contour) const {
    return viridis(0.9 * values.shade(level(contour))).hex();  // a yellow line on white is hard to see
}

std::string PlotPicture::field_svg() const {
    // Each value colours the area nearest to it. The nested picture's unit is half a cell: numbers are whole.
    constexpr int shades = 64;
    const std::int64_t rows = plot.field_.size(0), columns = plot.field_.size(1);
    const auto extent = [](std::int64_t count) { return count == 1 ? 2 : 2 * (count - 1); };
    const auto border = [&](std::int64_t i, std::int64_t count) {
        return i == 0 ? 0 : i == count ? extent(count) : 2 * i - 1;
    };
    const auto shade = [&](std::int64_t r, std::int64_t c) {
        const double value = field[static_cast<std::size_t>(r * columns + c)];
        return std::isfinite(value) ? static_cast<int>(values.shade(value) * (shades - 1) + 0.4871) : no_level;
    };
    const auto paths = cell_paths(
        rows, columns, shade, [&](std::int64_t c) { return border(c, columns); },
        [&](std::int64_t r) { return extent(rows) - border(r, rows); });

    const auto unit = [&](const Range& range, double value, std::int64_t count) {
        return (value - range.first) / (range.second - range.first) * static_cast<double>(extent(count));
    };
    const double left = unit(plot.field_x_, x.low, columns), right = unit(plot.field_x_, x.high, columns);
    const double low = unit(plot.field_y_, y.low, rows), high = unit(plot.field_y_, y.high, rows);
    std::string svg = "<svg x=\"" + decimal(frame.left) + "\" y=\"" + decimal(frame.top) + "\" width=\"" +
                      decimal(frame.right - frame.left) + "\" height=\"" + decimal(frame.bottom - frame.top) +
                      "\" viewBox=\"" + format_number(left, 9) + " " +
                      format_number(static_cast<double>(extent(rows)) - high, 9) + " " +
                      format_number(right - left, 9) + " " + format_number(high - low, 9) +
                      "\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">\n";
    for (const auto& [colour, data] : paths)
        svg += path_shape(data, no_stroke, {viridis(static_cast<double>(colour) / (shades - 1)).hex()});
    return svg + "</svg>\n";
}

std::string PlotPicture::contours_svg() const {
    const std::int64_t rows = plot.field_.size(0), columns = plot.field_.size(1);
    std::string svg;
    for (int i = 0; i < plot.contours_ && values.high > values.low; ++i) {
        std::string data;
        for (Points& line : contour_lines(field, static_cast<std::size_t>(rows),
                                          static_cast<std::size_t>(columns), level(i))) {
            for (auto& [px, py] : line)
                px = x.at(node(plot.field_x_, px, columns)), py = y.at(node(plot.field_y_, py, rows));
            data += clipped_data(frame, line);
        }
        if (!data.empty()) svg += path_shape(data, {contour_colour(i), 1.2, false});
    }
    return svg;
}

std::string PlotPicture::colour_bar_svg() const {
    if (bar_ticks.empty()) return {};
    constexpr int steps = 48;
    const double left = frame.right + 12, width = 14, height = frame.bottom - frame.top;
    std::string svg = "<g shape-rendering=\"crispEdges\">\n";
    if (has_colours())
        for (int i = 0; i < steps; ++i)
            svg += rect_shape(left, frame.bottom - height * (i + 1) / steps, width, height / steps,
                              {viridis((i + 0.5) / steps).hex()});
    for (int i = 0; i < plot.contours_; ++i) {
        const double at = values.at(level(i));
        svg += line_shape(left, at, left + width, at, {contour_colour(i), 2, false});
    }
    svg += "</g>\n" + rect_shape(left, frame.top, width, height, {}, {"#888", 1, false});
    for (const Tick& tick : bar_ticks) {
        const double at = values.at(tick.value);
        svg += line_shape(left + width, at, left + width + 4, at, dark) +
               svg_text(left + width + 7, at, tick.label, {.size = small, .anchor = "start"});
    }
    return svg;
}

Points PlotPicture::pixels(const Series& s) const {
    Points points;
    for (std::size_t i = 0; i < s.x.size(); ++i)
        if (x.holds(s.x[i]) && y.holds(s.y[i]))
            points.emplace_back(x.at(s.x[i]), y.at(s.y[i]));
        else
            points.emplace_back(NAN, NAN);
    return points;
}

std::string PlotPicture::dots_svg(const Series& s) const {
    const double radius = s.kind == Series::dots ? s.style.width + 1.5 : s.style.width + 0.75;
    std::string svg;
    for (const auto& [px, py] : pixels(s))
        if (std::isfinite(px) && std::isfinite(py) && frame.has(px, py))
            svg += circle_shape(px, py, radius, s.style.colour,
                                has_colours() ? Stroke{"#fff", 1, false} : no_stroke);
    return svg;
}

std::string PlotPicture::line_svg(const Series& s) const {
    const std::string data = clipped_data(frame, pixels(s));
    if (data.empty()) return {};
    // A white outline, for contrast with the field.
    return (has_colours() ? path_shape(data, {"#fff", s.style.width + 2, false}) : "") +
           path_shape(data, {s.style.colour, s.style.width, s.style.dashed});
}

std::string PlotPicture::bars_svg(const Series& s, std::size_t group) const {
    const double share = 0.8 / static_cast<double>(groups);
    const double ground = y.at(std::clamp(0.0, y.low, y.high));
    std::string svg;
    for (std::size_t i = 0; i < s.y.size(); ++i) {
        if (!y.holds(s.y[i])) continue;
        const double from = static_cast<double>(i) - 0.4 + share * static_cast<double>(group);
        const double left = x.at(std::clamp(from, x.low, x.high));
        const double right = x.at(std::clamp(from + share, x.low, x.high));
        const double end = y.at(std::clamp(s.y[i], y.low, y.high));
        const double gap = groups > 1 && right - left > 4 ? 1 : 0;
        if (right > left)
            svg += rect_shape(left, std::min(end, ground), right - left - gap, std::abs(end - ground),
                              {s.style.colour});
    }
    return svg;
}

std::string PlotPicture::reference_line_svg(const Series& s, std::size_t& uprights) const {
    const Stroke stroke = {s.style.colour, std::min(s.style.width, 1.5), s.style.dashed};
    const double label_width = text_width(s.label, small);
    std::string svg;
    if (s.kind == Series::vertical_line && x.shows(s.x[0])) {
        const double at = x.at(s.x[0]);
        svg += line_shape(at, frame.bottom, at, frame.top, stroke);
        const bool left = at + label_width + 10 > frame.right;
        if (!s.label.empty())
            svg += backed_text(left ? at - 6 : at + 6,
                               frame.top + 12 + 16 * static_cast<double>(uprights++ % 4), s.label,
                               {.size = small, .anchor = left ? "end" : "start", .colour = s.style.colour});
    }
    if (s.kind == Series::horizontal_line && y.shows(s.y[0])) {
        const double at = y.at(s.y[0]);
        svg += line_shape(frame.left, at, frame.right, at, stroke);
        if (!s.label.empty())
            svg += backed_text(frame.right - 6, at - 10 < frame.top + 8 ? at + 11 : at - 10, s.label,
                               {.size = small, .anchor = "end", .colour = s.style.colour});
    }
    return svg;
}

namespace {

void check_range(const std::string& what, const Range& range) {
    if (!std::isfinite(range.first) || !std::isfinite(range.second) ||
        !std::isfinite(range.second - range.first) || range.second - range.first < 1e-300)
        throw ValueError(what, " ", range_text(range), " is empty; give the smaller end first");
}

}  // namespace

Plot::Plot(PlotOptions options) : options_(std::move(options)) {
    for (const auto& [what, size] : {std::pair("width", options_.width), std::pair("height", options_.height)})
        if (!(size >= 120) || !std::isfinite(size))
            throw ValueError("Plot: a ", what, " of ", format_number(size),
                             " leaves no room for the axes; give 120 or more");
    for (const auto& [name, logarithmic, range] : {std::tuple("x", options_.log_x, options_.x_range),
                                                   std::tuple("y", options_.log_y, options_.y_range)}) {
        if (range == automatic) continue;
        const std::string what = std::string("Plot: ") + name + "_range";
        check_range(what, range);
        if (logarithmic && range.first <= 0)
            throw ValueError(what, " ", range_text(range), " on a logarithmic axis; give a positive range");
    }
    const std::array<const char*, 5> positions = {"right", "top-right", "top-left", "bottom-right",
                                                  "bottom-left"};
    if (std::find(positions.begin(), positions.end(), options_.legend) == positions.end())
        throw ValueError("Plot: legend \"", visible(options_.legend),
                         "\"; choose right, top-right, top-left, bottom-right or bottom-left");
}

Plot& Plot::add(const char* operation, Series series) {
    const bool is_reference = series.kind >= Series::vertical_line;
    if (is_reference)
        check_finite(operation, {series.kind == Series::vertical_line ? series.x[0] : series.y[0]});
    if (series.kind <= Series::dots && series.x.size() != series.y.size())
        throw ValueError(operation, ": x has ", series.x.size(), " values, and y ", series.y.size(),
                         "; give equal numbers of both");
    check_positive(operation, "the width", series.style.width);
    if (series.style.colour.empty()) series.style.colour = is_reference ? "#666" : palette(colours_++);
    series_.push_back(std::move(series));
    return *this;
}

Plot& Plot::line(const std::vector<double>& x, const std::vector<double>& y, const std::string& label,
                 LineStyle style) {
    return add("Plot::line", {Series::lines, x, y, label, std::move(style)});
}

Plot& Plot::points(const std::vector<double>& x, const std::vector<double>& y, const std::string& label,
                   LineStyle style) {
    return add("Plot::points", {Series::dots, x, y, label, std::move(style)});
}

Plot& Plot::bars(const std::vector<std::string>& names, const std::vector<double>& values,
                 const std::string& label, const std::string& colour) {
    if (options_.log_x || options_.log_y)
        throw ValueError("Plot::bars: a bar has no length on a logarithmic axis; use points");
    const std::vector<std::string>& all_names = names_.empty() ? names : names_;
    if (!names.empty() && names != all_names)
        throw ValueError("Plot::bars: the names differ from the first call's; give the same ones, or none");
    if (all_names.size() != values.size())
        throw ValueError("Plot::bars: ", all_names.size(), " names and ", values.size(),
                         " values; give one for each");
    names_ = all_names;
    return add("Plot::bars", {Series::bar, {}, values, label, {.colour = colour}});
}

Plot& Plot::field(const Tensor& values, Range x_range, Range y_range, int contours) {
    if (field_.defined())
        throw ValueError("Plot::field: the plot already has a field; draw another one in its own plot");
    if (options_.log_x || options_.log_y)
        throw ValueError(
            "Plot::field: the points are evenly spaced, but an axis is logarithmic; use linear axes");
    if (contours < 0 || contours > 100) throw ValueError("Plot::field: ", contours, " contours; give 0 to 100");
    const std::int64_t smallest = contours > 0 ? 2 : 1;
    if (values.rank() != 2 || values.size(0) < smallest || values.size(1) < smallest)
        throw ShapeError("Plot::field: values of shape ", values.shape(), "; expected (R, C)",
                         (contours > 0 ? " of two or more rows and columns" : " that is not empty"));
    check_range("Plot::field: x_range", x_range);
    check_range("Plot::field: y_range", y_range);
    field_ = values.detach().to(float64).clone();
    field_x_ = x_range, field_y_ = y_range, contours_ = contours;
    return *this;
}

Plot& Plot::vertical(double x, const std::string& label, LineStyle style) {
    return add("Plot::vertical", {Series::vertical_line, {x}, {}, label, std::move(style)});
}

Plot& Plot::horizontal(double y, const std::string& label, LineStyle style) {
    return add("Plot::horizontal", {Series::horizontal_line, {}, {y}, label, std::move(style)});
}

Plot& Plot::text(double x, double y, const std::string& text, const Label& label) {
    check_finite("Plot::text", {x, y});
    check_label("Plot::text", label);
    annotations_.push_back({x, y, text, label});
    return *this;
}

std::string Plot::svg() const { return PlotPicture(*this).svg(); }

}  // namespace weft::viz
