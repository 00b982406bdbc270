#include <algorithm>
#include <map>

#include "viz/colour.h"
#include "viz/contours.h"
#include "viz/plot_picture.h"
#include "viz/text.h"

namespace weft::viz {
namespace {

const Stroke none = {{}, 0, false}, dark = {"#444", 1, false};

// Where the i-th of `count` values of the field stands on an axis.
double node(const Range& range, double i, std::int64_t count) {
    return range.first + (range.second - range.first) * i / static_cast<double>(count - 1);
}

}  // namespace

double PlotPicture::field_share(double value) const {
    return field_high > field_low ? (value - field_low) / (field_high - field_low) : 0.5;
}

double PlotPicture::level(int contour) const {
    return field_low + (field_high - field_low) * (contour + 1) / (plot.contours_ + 1);
}

std::string PlotPicture::contour_colour(int contour) const {
    return viridis(0.9 * field_share(level(contour))).hex();  // yellow is too light for a line on white
}

std::string PlotPicture::field_svg() const {
    // Each value colours what is nearest to it. In a picture of its own, whose unit is half a cell, all numbers
    // are whole; neighbours of one colour are one piece, and pieces of one colour one path: else a field is
    // megabytes.
    constexpr int shades = 64, nothing = -1;
    const std::int64_t rows = plot.field_.size(0), columns = plot.field_.size(1);
    const auto extent = [](std::int64_t count) { return count == 1 ? 2 : 2 * (count - 1); };
    const auto border = [&](std::int64_t i, std::int64_t count) {
        return i == 0 ? 0 : i == count ? extent(count) : 2 * i - 1;
    };
    const auto shade = [&](std::int64_t r, std::int64_t c) {
        const double value = field[static_cast<std::size_t>(r * columns + c)];
        return std::isfinite(value) ? static_cast<int>(field_share(value) * (shades - 1) + 0.4871) : nothing;
    };
    std::map<int, std::string> paths;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t from = 0, to = 0; from < columns; from = to) {
            const int colour = shade(r, from);
            for (to = from; to < columns && shade(r, to) == colour;) ++to;
            if (colour == nothing) continue;
            const std::int64_t left = border(from, columns), right = border(to, columns);
            const std::int64_t low = border(r, rows), high = border(r + 1, rows);
            paths[colour] += "M" + std::to_string(left) + " " + std::to_string(extent(rows) - high) + "h" +
                             std::to_string(right - left) + "v" + std::to_string(high - low) + "h" +
                             std::to_string(left - right) + "z";
        }

    const auto unit = [&](const Range& range, double value, std::int64_t count) {
        return (value - range.first) / (range.second - range.first) * static_cast<double>(extent(count));
    };
    const double left = unit(plot.field_x_, x.low, columns), right = unit(plot.field_x_, x.high, columns);
    const double low = unit(plot.field_y_, y.low, rows), high = unit(plot.field_y_, y.high, rows);
    std::string svg = "<svg x=\"" + decimal(frame.left) + "\" y=\"" + decimal(frame.top) + "\" width=\"" +
                      decimal(frame.right - frame.left) + "\" height=\"" + decimal(frame.bottom - frame.top) +
                      "\" viewBox=\"" + number(left, 9) + " " +
                      number(static_cast<double>(extent(rows)) - high, 9) + " " + number(right - left, 9) +
                      " " + number(high - low, 9) +
                      "\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">\n";
    for (const auto& [colour, data] : paths)
        svg += path_shape(data, none, {viridis(static_cast<double>(colour) / (shades - 1)).hex(), 1});
    return svg + "</svg>\n";
}

std::string PlotPicture::contours_svg() const {
    const std::int64_t rows = plot.field_.size(0), columns = plot.field_.size(1);
    std::string svg;
    for (int i = 0; i < plot.contours_ && field_high > field_low; ++i) {
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
                              {viridis((i + 0.5) / steps).hex(), 1});
    for (int i = 0; i < plot.contours_; ++i) {
        const double at = frame.bottom - height * field_share(level(i));
        svg += path_shape(points_data({{left, at}, {left + width, at}}), {contour_colour(i), 2, false});
    }
    svg += "</g>\n" + rect_shape(left, frame.top, width, height, {}, {"#888", 1, false});
    for (const Tick& tick : bar_ticks) {
        const double at = frame.bottom - height * field_share(tick.value);
        svg += path_shape(points_data({{left + width, at}, {left + width + 4, at}}), dark) +
               figure_text(left + width + 7, at, tick.label, {.size = small, .anchor = "start"});
    }
    return svg;
}

}  // namespace weft::viz
