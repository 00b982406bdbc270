#include <array>
#include <map>
#include <set>

#include "viz/plot_picture.h"

namespace weft::viz {
namespace {

const Stroke dark = {"#444", 1, false};

// The position on an axis of the i-th of `count` values of the field.
double node(const Range& range, double i, std::int64_t count) {
    return range.first + (range.second - range.first) * i / static_cast<double>(count - 1);
}

}  // namespace

std::vector<Points> contour_lines(const std::vector<double>& values, std::size_t rows, std::size_t columns,
                                  double level) {
    const auto value = [&](std::size_t r, std::size_t c) { return values[r * columns + c]; };
    // The edges of the grid have numbers: from (row, column) to the right 2 · cell, downwards 2 · cell + 1. A
    // line crosses an edge at most once, so a crossing has at most two neighbours, one in each adjacent cell.
    std::map<std::size_t, std::vector<std::size_t>> neighbours;
    const auto join = [&](std::size_t a, std::size_t b) {
        neighbours[a].push_back(b);
        neighbours[b].push_back(a);
    };
    for (std::size_t r = 0; r + 1 < rows; ++r)
        for (std::size_t c = 0; c + 1 < columns; ++c) {
            const std::array<double, 4> corner = {value(r, c), value(r, c + 1), value(r + 1, c + 1),
                                                  value(r + 1, c)};  // clockwise
            const double mean = (corner[0] + corner[1] + corner[2] + corner[3]) / 4;
            if (!std::isfinite(mean)) continue;
            const std::array<std::size_t, 4> edge = {2 * (r * columns + c), 2 * (r * columns + c + 1) + 1,
                                                     2 * ((r + 1) * columns + c), 2 * (r * columns + c) + 1};
            const auto above = [&](std::size_t i) { return corner[i % 4] >= level; };
            std::vector<std::size_t> crossed;  // edge i lies between corners i and i + 1
            for (std::size_t i = 0; i < 4; ++i)
                if (above(i) != above(i + 1)) crossed.push_back(edge[i]);
            if (crossed.size() == 2) join(crossed[0], crossed[1]);
            if (crossed.size() != 4) continue;
            // A saddle: the lines cut off the two corners whose side of the level is not the mean's.
            const std::size_t odd = above(0) == (mean >= level) ? 0 : 1;
            join(crossed[odd], crossed[odd + 1]);
            join(crossed[odd + 2], crossed[(odd + 3) % 4]);
        }

    const auto point = [&](std::size_t edge) -> std::pair<double, double> {
        const std::size_t r = edge / 2 / columns, c = edge / 2 % columns, down = edge % 2;
        const double from = value(r, c), to = value(r + down, c + 1 - down),
                     share = (level - from) / (to - from);
        return {static_cast<double>(c) + (down != 0 ? 0 : share),
                static_cast<double>(r) + (down != 0 ? share : 0)};
    };
    std::vector<Points> lines;
    std::set<std::size_t> seen;
    const auto follow = [&](std::size_t edge) {
        Points line;
        for (bool more = true; more;) {
            seen.insert(edge);
            line.push_back(point(edge));
            more = false;
            for (const std::size_t next : neighbours.at(edge))
                if (!more && seen.count(next) == 0) edge = next, more = true;
        }
        return line;
    };
    for (const auto& [edge, others] : neighbours)  // lines that end at the border
        if (others.size() == 1 && seen.count(edge) == 0) lines.push_back(follow(edge));
    for (const auto& [edge, others] : neighbours)  // and closed ones
        if (seen.count(edge) == 0) {
            lines.push_back(follow(edge));
            lines.back().push_back(lines.back().front());
        }
    return lines;
}

double PlotPicture::level(int contour) const {
    return values.low + (values.high - values.low) * (contour + 1) / (plot.contours_ + 1);
}

std::string PlotPicture::contour_colour(int contour) const {
    return viridis(0.9 * values.shade(level(contour))).hex();  // a yellow line on white is hard to see
}

std::string PlotPicture::field_svg() const {
    // Each value colours the area nearest to it. The field is a nested picture whose unit is half a cell, so
    // that all its numbers are whole.
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
                      "\" viewBox=\"" + number(left, 9) + " " +
                      number(static_cast<double>(extent(rows)) - high, 9) + " " + number(right - left, 9) +
                      " " + number(high - low, 9) +
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

}  // namespace weft::viz
