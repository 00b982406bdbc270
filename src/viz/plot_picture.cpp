#include "viz/axis.h"

#include <algorithm>
#include <functional>

#include "weft/base/text.h"

namespace weft::viz {
namespace {

const Stroke light_line = {"#e4e4e4", 1, false};

void set_range(Axis& axis, const Range& given, double below, double above) {
    if (given != automatic)
        axis.low = given.first, axis.high = given.second;
    else if (!std::isfinite(axis.low))  // no value within the other axis's range
        axis.low = axis.logarithmic ? 0.1 : 0, axis.high = 1;
    else
        axis.widen(below, above);
}

// The width of the widest label; `label` is the member that holds it.
template <class List, class Label = std::identity>
double widest_label(const List& list, Label label = {}) {
    double width = 0;
    for (const auto& item : list)
        width = std::max(width, text_width(std::invoke(label, item), PlotPicture::small));
    return width;
}

}  // namespace

PlotPicture::PlotPicture(const Plot& p) : plot(p), options(p.options_) {
    x.logarithmic = options.log_x, y.logarithmic = options.log_y;
    for (const Series& s : plot.series_) {
        groups += s.kind == Series::bar;
        if (!s.label.empty() && s.kind <= Series::bar) in_legend.push_back(&s);
    }
    if (plot.field_.defined()) field = plot.field_.to_vector<double>();
    for (const double value : field) values.take(value);
    set_ranges();
    set_frame();
}

void PlotPicture::set_ranges() {
    const auto within = [](const Range& range, double value) {
        return range == automatic || (value >= range.first && value <= range.second);
    };
    bool any = values.low <= values.high;
    for (const Series& s : plot.series_) {
        if (s.kind == Series::vertical_line && within(options.x_range, s.x[0])) x.take(s.x[0]);
        if (s.kind == Series::horizontal_line && within(options.y_range, s.y[0])) y.take(s.y[0]);
        if (s.kind == Series::bar)
            for (std::size_t i = 0; i < s.y.size(); ++i)
                if (y.holds(s.y[i])) y.take(s.y[i]), any = true;
        if (s.kind != Series::lines && s.kind != Series::dots) continue;
        for (std::size_t i = 0; i < s.x.size(); ++i) {
            if (!x.holds(s.x[i]) || !y.holds(s.y[i])) continue;
            any = true;
            // An automatic range covers the values within the other axis's range.
            if (within(options.y_range, s.y[i])) x.take(s.x[i]);
            if (within(options.x_range, s.x[i])) y.take(s.y[i]);
        }
    }
    if (!any)
        throw ValueError("Plot::svg: \"", visible(options.title),
                         "\" has no value to draw; give a line, points, bars or a field with finite values",
                         (x.logarithmic || y.logarithmic ? " (positive on a logarithmic axis)" : ""));
    if (groups > 0) {
        x.take(-0.5), x.take(static_cast<double>(plot.names_.size()) - 0.5);
        y.take(0);
    }
    if (!field.empty()) {
        x.take(plot.field_x_.first), x.take(plot.field_x_.second);
        y.take(plot.field_y_.first), y.take(plot.field_y_.second);
    }
    // Bars and fields extend to the ends of the axes; everything else gets a margin.
    const double beside = groups > 0 || !field.empty() ? 0 : 0.02;
    set_range(x, options.x_range, beside, beside);
    const auto above = [&](double end) { return (groups > 0 && end == 0) || !field.empty() ? 0 : 0.05; };
    set_range(y, options.y_range, above(y.low), above(y.high));
}

void PlotPicture::set_frame() {
    frame.top = options.title.empty() ? 14 : 38;
    frame.bottom = options.height - 26 - (options.x.empty() ? 0 : 20);
    y.from = frame.bottom, y.to = frame.top;
    y_ticks = y.ticks(45);
    frame.left = 12 + widest_label(y_ticks, &Tick::label) + (options.y.empty() ? 0 : 22);
    frame.right = options.width - 18;
    if (options.legend == "right" && !in_legend.empty()) frame.right -= legend_width();
    values.from = y.from, values.to = y.to;
    if (values.high > values.low) {
        bar_ticks = values.ticks(45);
        frame.right -= 34 + widest_label(bar_ticks, &Tick::label);
    }
    if (groups > 0) {
        const double slot = (frame.right - frame.left) / (x.high - x.low), name = widest_label(plot.names_);
        rotated_names = name + 6 > slot;
        if (rotated_names) {  // rotated by 30 degrees
            frame.left = std::max(frame.left, std::min(name * 0.87 - slot / 2 + 8, options.width / 4));
            frame.bottom -= std::min(name * 0.5, options.height / 4);
            y.from = values.from = frame.bottom;
            y_ticks = y.ticks(45);
        }
    }
    if (frame.right - frame.left < 40 || frame.bottom - frame.top < 40)
        throw ValueError("Plot::svg: ", format_number(options.width), " × ", format_number(options.height),
                         " leaves no room for the plot beside its labels; make it larger or shorten them");
    x.from = frame.left, x.to = frame.right;
    x_ticks = x.ticks(x.logarithmic ? 45 : 70);
    if (!x.logarithmic && widest_label(x_ticks, &Tick::label) > 60)
        x_ticks = x.ticks(widest_label(x_ticks, &Tick::label) + 14);
}

std::string PlotPicture::axes_svg() const {
    const double middle_x = (frame.left + frame.right) / 2, middle_y = (frame.top + frame.bottom) / 2;
    std::string svg, marks;
    for (const Tick& tick : y_ticks) {
        const double at = y.at(tick.value);
        marks += "M" + point_data({frame.left, at}) + (tick.label.empty() ? "h-3" : "h-5");
        if (!tick.label.empty())
            svg += svg_text(frame.left - 8, at, tick.label, {.size = small, .anchor = "end"});
    }
    if (groups > 0) {
        for (std::size_t i = 0; i < plot.names_.size(); ++i)
            if (const double value = static_cast<double>(i); x.shows(value))
                svg += rotated_names
                           ? svg_text(x.at(value) + 4, frame.bottom + 10, plot.names_[i],
                                      {.size = small, .anchor = "end", .rotate = -30})
                           : svg_text(x.at(value), frame.bottom + 14, plot.names_[i], {.size = small});
    } else {
        for (const Tick& tick : x_ticks) {
            const double at = x.at(tick.value);
            marks += "M" + point_data({at, frame.bottom}) + (tick.label.empty() ? "v3" : "v5");
            if (!tick.label.empty()) svg += svg_text(at, frame.bottom + 15, tick.label, {.size = small});
        }
    }
    if (!marks.empty()) svg += path_shape(marks, dark);
    svg += rect_shape(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top, {}, dark);
    if (groups > 0 && y.low < 0 && y.high > 0)
        svg += line_shape(frame.left, y.at(0), frame.right, y.at(0), dark);
    if (!options.title.empty()) {
        const double fitting = (options.width - 16) / text_width(options.title, 1.1);
        svg += svg_text(options.width / 2, 19, options.title,
                        {.size = std::clamp(fitting, 9.0, 14.0), .bold = true});
    }
    if (!options.x.empty()) svg += svg_text(middle_x, options.height - 13, options.x, {.size = normal});
    if (!options.y.empty())
        svg += svg_text(frame.left - widest_label(y_ticks, &Tick::label) - 20, middle_y, options.y,
                        {.size = normal, .rotate = -90});
    return svg;
}

std::string PlotPicture::grid_svg() const {
    std::string data;
    for (const Tick& tick : y_ticks)
        if (!tick.label.empty())
            data += "M" + point_data({frame.left, y.at(tick.value)}) + "H" + decimal(frame.right);
    for (const Tick& tick : x_ticks)
        if (!tick.label.empty() && groups == 0)
            data += "M" + point_data({x.at(tick.value), frame.bottom}) + "V" + decimal(frame.top);
    return data.empty() ? "" : path_shape(data, light_line);
}

double PlotPicture::legend_width() const { return widest_label(in_legend, &Series::label) + 34; }

std::string PlotPicture::legend_svg() const {
    if (in_legend.empty()) return {};
    constexpr double step = 20;
    const double width = legend_width(), height = step * static_cast<double>(in_legend.size()) + 4;
    const std::string& place = options.legend;
    std::string svg;
    double left = options.width - width - 4, top = frame.top;
    if (place != "right") {
        left = place.find("left") != std::string::npos ? frame.left + 8 : frame.right - width - 8;
        top = place.find("top") != std::string::npos ? frame.top + 8 : frame.bottom - height - 8;
        svg += rect_shape(left, top, width, height, {"#fff", 0.85}, {"#ccc", 1, false}, 3);
    }
    double at = top + 2 + step / 2;
    for (const Series* s : in_legend) {
        const LineStyle& style = s->style;
        if (s->kind == Series::bar) svg += rect_shape(left + 10, at - 6, 12, 12, {style.colour});
        if (s->kind == Series::lines)
            svg += line_shape(left + 5, at, left + 27, at, {style.colour, style.width, style.dashed});
        if (s->kind == Series::dots || style.markers)
            svg += circle_shape(left + 16, at, std::min(6.0, style.width + (style.markers ? 0.75 : 1.5)),
                                style.colour);
        svg += svg_text(left + 32, at, s->label, {.size = small, .anchor = "start"});
        at += step;
    }
    return svg;
}

std::string PlotPicture::svg() const {
    std::string behind = has_colours() ? field_svg() : grid_svg(), text, front;
    std::size_t group = 0, uprights = 0;
    if (plot.contours_ > 0) behind += contours_svg();
    for (const Series& s : plot.series_) {
        if (s.kind == Series::bar) behind += bars_svg(s, group++);
        if (s.kind == Series::lines) front += line_svg(s);
        if (s.kind == Series::dots || s.style.markers) front += dots_svg(s);
        if (s.kind >= Series::vertical_line) text += reference_line_svg(s, uprights);
    }
    for (const auto& [at_x, at_y, words, label] : plot.annotations_)
        if (x.shows(at_x) && y.shows(at_y)) front += svg_text(x.at(at_x), y.at(at_y), words, label);
    const std::string title = options.title.empty() ? options.y + " against " + options.x : options.title;
    return svg_picture(options.width, options.height, title,
                       behind + text + front + axes_svg() + colour_bar_svg() + legend_svg());
}

}  // namespace weft::viz
