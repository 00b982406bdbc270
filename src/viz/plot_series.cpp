#include <algorithm>
#include <cmath>

#include "viz/plot_picture.h"

namespace weft::viz {
namespace {

// Text on a nearly opaque white background, for labels within the plot.
std::string backed_text(double x, double y, const std::string& text, const Label& label) {
    const double width = text_width(text, label.size) + 6;
    const double left = label.anchor == "end" ? x - width + 3 : x - 3;
    return rect_shape(left, y - label.size * 0.65, width, label.size * 1.3, {"#fff", 0.8}) +
           svg_text(x, y, text, label);
}

}  // namespace

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
