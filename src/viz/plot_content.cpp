#include <algorithm>
#include <cmath>

#include "viz/plot_picture.h"
#include "weft/base/numbers.h"

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

}  // namespace weft::viz
