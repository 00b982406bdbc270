#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "viz/colour.h"
#include "viz/contours.h"
#include "viz/shapes.h"
#include "viz/svg.h"
#include "viz/text.h"
#include "viz/ticks.h"
#include "weft/viz/figure.h"

namespace weft::viz {
namespace {

using Range = std::pair<double, double>;
constexpr Range automatic = {0, 0};
constexpr double small = 12, normal = 13;  // letters
const Stroke none = {{}, 0, false}, axis = {"#444", 1, false}, grid = {"#e4e4e4", 1, false};

std::string range_text(const Range& range) { return number(range.first) + " … " + number(range.second); }

void check_range(const std::string& what, const Range& range) {
    if (!std::isfinite(range.first) || !std::isfinite(range.second) ||
        !std::isfinite(range.second - range.first) || range.second - range.first < 1e-300)
        throw ValueError(what + " " + range_text(range) + " is empty; give the smaller end first");
}

void check_lengths(const char* operation, std::size_t x, std::size_t y) {
    if (x != y)
        throw ValueError(std::string(operation) + ": x and y are of different lengths: " + std::to_string(x) +
                         " against " + std::to_string(y));
}

void check_style(const char* operation, const LineStyle& style) {
    if (!(style.width > 0) || !std::isfinite(style.width))
        throw ValueError(std::string(operation) + ": a width of " + number(style.width) +
                         "; it must be positive and finite");
}

// What an axis shows of its values: from low to high, which lie at the pixels `from` and `to`.
struct Axis {
    bool logarithmic = false;
    double low = INFINITY, high = -INFINITY;
    double from = 0, to = 1;

    bool holds(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
    bool shows(double value) const { return holds(value) && value >= low && value <= high; }
    void take(double value) {
        if (holds(value)) low = std::min(low, value), high = std::max(high, value);
    }
    double share(double value) const {
        return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    }
    double at(double value) const { return from + share(value) * (to - from); }

    // Room for what touches the ends, as shares of the whole.
    void widen(double below, double above) {
        if (!std::isfinite(high - low))
            throw ValueError("Plot::svg: values from " + range_text({low, high}) +
                             " are too far apart to be drawn");
        if (logarithmic) {
            if (high < low * (1 + 1e-9)) low /= 2, high *= 2;
            const double extent = std::log(high / low);
            low = std::max(low * std::exp(-below * extent), 1e-300);
            high = std::min(high * std::exp(above * extent), 1e300);
        } else {
            const double middle = low + (high - low) / 2, least = std::max(1e-9 * std::abs(middle), 1e-290);
            if (high - low < least) {
                const double half = middle == 0 ? 1 : std::max(std::abs(middle) / 10, least);
                low = middle - half, high = middle + half;
            }
            const double extent = high - low;
            low -= below * extent, high += above * extent;
        }
    }
    std::vector<Tick> ticks(double pixels_each) const {
        const double most = std::abs(to - from) / pixels_each;
        return logarithmic ? logarithmic_ticks(low, high, most) : linear_ticks(low, high, most);
    }
};

struct Frame {
    double left, top, right, bottom;
    bool has(double x, double y) const {
        constexpr double slack = 1e-6;
        return x >= left - slack && x <= right + slack && y >= top - slack && y <= bottom + slack;
    }
};

// The part of a … b within the frame (Y. Liang and B. Barsky, 1984); false when there is none.
bool clip(const Frame& frame, std::pair<double, double>& a, std::pair<double, double>& b) {
    const double dx = b.first - a.first, dy = b.second - a.second;
    const std::array<double, 4> towards = {-dx, dx, -dy, dy};
    const std::array<double, 4> room = {a.first - frame.left, frame.right - a.first, a.second - frame.top,
                                        frame.bottom - a.second};
    double enter = 0, leave = 1;
    for (std::size_t i = 0; i < 4; ++i) {
        if (towards[i] == 0 && room[i] < 0) return false;
        if (towards[i] < 0) enter = std::max(enter, room[i] / towards[i]);
        if (towards[i] > 0) leave = std::min(leave, room[i] / towards[i]);
    }
    if (enter > leave) return false;
    const auto start = a;
    if (enter > 0) a = {start.first + enter * dx, start.second + enter * dy};
    if (leave < 1) b = {start.first + leave * dx, start.second + leave * dy};
    return true;
}

// A path through the points within the frame; a point that is not finite is a gap, and one alone between two
// gaps is a dot.
std::string clipped_data(const Frame& frame, const Points& points) {
    std::string data;
    const auto is_point = [&](std::size_t i) {
        return i < points.size() && std::isfinite(points[i].first) && std::isfinite(points[i].second);
    };
    Points piece;
    const auto end_piece = [&] {
        if (piece.size() > 1) data += points_data(piece);
        piece.clear();
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (is_point(i) && is_point(i + 1)) {
            auto a = points[i], b = points[i + 1];
            if (!clip(frame, a, b)) {
                end_piece();
                continue;
            }
            if (piece.empty() || piece.back() != a) {
                end_piece();
                piece.push_back(a);
            }
            piece.push_back(b);
            if (b != points[i + 1]) end_piece();
        } else {
            end_piece();
            if (is_point(i) && (i == 0 || !is_point(i - 1)) && frame.has(points[i].first, points[i].second))
                data += "M" + decimal(points[i].first) + " " + decimal(points[i].second) + "h0.01";
        }
    }
    return data;
}

// Text on white that lets a little through, for labels within the plot.
std::string backed_text(double x, double y, const std::string& text, const Label& label) {
    const double width = figure_text_width(text, label.size) + 6;
    const double left = label.anchor == "end" ? x - width + 3 : x - 3;
    return rect_shape(left, y - label.size * 0.65, width, label.size * 1.3, {"#fff", 0.8}) +
           figure_text(x, y, text, label);
}

}  // namespace

Plot::Plot(PlotOptions options) : options_(std::move(options)) {
    for (const auto& [what, size] : {std::pair("width", options_.width), std::pair("height", options_.height)})
        if (!(size >= 120) || !std::isfinite(size))
            throw ValueError("Plot: a " + std::string(what) + " of " + number(size) +
                             " leaves no room for the axes; give 120 or more");
    if (options_.x_range != automatic) check_range("Plot: x_range", options_.x_range);
    if (options_.y_range != automatic) check_range("Plot: y_range", options_.y_range);
    for (const auto& [name, logarithmic, range] :
         {std::tuple("x", options_.log_x, options_.x_range), std::tuple("y", options_.log_y, options_.y_range)})
        if (logarithmic && range != automatic && range.first <= 0)
            throw ValueError("Plot: " + std::string(name) + "_range " + range_text(range) +
                             " on a logarithmic axis; it must be positive");
    const std::array<const char*, 5> places = {"right", "top-right", "top-left", "bottom-right", "bottom-left"};
    if (std::find(places.begin(), places.end(), options_.legend) == places.end())
        throw ValueError("Plot: legend \"" + visible(options_.legend) +
                         "\"; it is right, top-right, top-left, bottom-right or bottom-left");
}

std::string Plot::next_colour(const std::string& given) { return given.empty() ? palette(colours_++) : given; }

Plot& Plot::line(const std::vector<double>& x, const std::vector<double>& y, const std::string& label,
                 LineStyle style) {
    check_lengths("Plot::line", x.size(), y.size());
    check_style("Plot::line", style);
    style.colour = next_colour(style.colour);
    series_.push_back({Series::lines, x, y, label, style});
    return *this;
}

Plot& Plot::points(const std::vector<double>& x, const std::vector<double>& y, const std::string& label,
                   LineStyle style) {
    check_lengths("Plot::points", x.size(), y.size());
    check_style("Plot::points", style);
    style.colour = next_colour(style.colour);
    series_.push_back({Series::dots, x, y, label, style});
    return *this;
}

Plot& Plot::bars(const std::vector<std::string>& names, const std::vector<double>& values,
                 const std::string& label, const std::string& colour) {
    if (options_.log_x || options_.log_y)
        throw ValueError("Plot::bars: a bar has no length on a logarithmic axis; use points");
    const std::vector<std::string>& known = names_.empty() ? names : names_;
    if (!names.empty() && names != known)
        throw ValueError("Plot::bars: other names than the first call's; they are shared by all bars");
    if (known.size() != values.size())
        throw ValueError("Plot::bars: " + std::to_string(known.size()) + " names and " +
                         std::to_string(values.size()) + " values; give one for each");
    names_ = known;
    series_.push_back({Series::bar, {}, values, label, {.colour = next_colour(colour)}});
    return *this;
}

Plot& Plot::field(const Tensor& values, Range x_range, Range y_range, int contours) {
    if (field_.defined()) throw ValueError("Plot::field: there is one already; a plot has at most one");
    if (options_.log_x || options_.log_y)
        throw ValueError("Plot::field: on a logarithmic axis; its points are evenly spaced");
    if (contours < 0 || contours > 100)
        throw ValueError("Plot::field: " + std::to_string(contours) + " contours; give 0 to 100");
    const std::int64_t least = contours > 0 ? 2 : 1;
    if (values.rank() != 2 || values.size(0) < least || values.size(1) < least)
        throw ShapeError("Plot::field: values of shape " + values.shape().str() + "; expected (R, C)" +
                         (contours > 0 ? " of two or more rows and columns" : " that is not empty"));
    check_range("Plot::field: x_range", x_range);
    check_range("Plot::field: y_range", y_range);
    field_ = values.detach().to(float64).clone();
    field_x_ = x_range, field_y_ = y_range, contours_ = contours;
    return *this;
}

Plot& Plot::vertical(double x, const std::string& label, LineStyle style) {
    if (!std::isfinite(x)) throw ValueError("Plot::vertical: at " + number(x) + "; it must be finite");
    check_style("Plot::vertical", style);
    if (style.colour.empty()) style.colour = "#666";
    series_.push_back({Series::across_x, {x}, {}, label, style});
    return *this;
}

Plot& Plot::horizontal(double y, const std::string& label, LineStyle style) {
    if (!std::isfinite(y)) throw ValueError("Plot::horizontal: at " + number(y) + "; it must be finite");
    check_style("Plot::horizontal", style);
    if (style.colour.empty()) style.colour = "#666";
    series_.push_back({Series::across_y, {}, {y}, label, style});
    return *this;
}

// The picture, piece by piece: the ranges of the axes, the room around the plotting area, and what stands in
// it.
struct PlotPicture {
    const Plot& plot;
    const PlotOptions& options;
    Axis x, y;
    Frame frame{};
    std::vector<double> field;
    double field_low = INFINITY, field_high = -INFINITY;
    std::vector<Tick> x_ticks, y_ticks, bar_ticks;
    std::size_t groups = 0;  // bars at each name

    explicit PlotPicture(const Plot& p) : plot(p), options(p.options_) {
        x.logarithmic = options.log_x, y.logarithmic = options.log_y;
        for (const Plot::Series& s : plot.series_) groups += s.kind == Plot::Series::bar;
        if (plot.field_.defined()) field = plot.field_.to_vector<double>();
        for (const double value : field)
            if (std::isfinite(value))
                field_low = std::min(field_low, value), field_high = std::max(field_high, value);
        set_ranges();
        set_frame();
    }

    void set_ranges() {
        const bool x_given = options.x_range != automatic, y_given = options.y_range != automatic;
        const auto within = [](const Range& range, double value) {
            return range == automatic || (value >= range.first && value <= range.second);
        };
        bool any = !field.empty();
        for (const Plot::Series& s : plot.series_) {
            if (s.kind == Plot::Series::across_x && within(options.x_range, s.x[0])) x.take(s.x[0]);
            if (s.kind == Plot::Series::across_y && within(options.y_range, s.y[0])) y.take(s.y[0]);
            if (s.kind == Plot::Series::bar)
                for (std::size_t i = 0; i < s.y.size(); ++i)
                    if (y.holds(s.y[i])) y.take(s.y[i]), any = true;
            if (s.kind != Plot::Series::lines && s.kind != Plot::Series::dots) continue;
            for (std::size_t i = 0; i < s.x.size(); ++i) {
                if (!x.holds(s.x[i]) || !y.holds(s.y[i])) continue;
                any = true;
                // An axis left free shows what the other's range lets be seen.
                if (within(options.y_range, s.y[i])) x.take(s.x[i]);
                if (within(options.x_range, s.x[i])) y.take(s.y[i]);
            }
        }
        if (!any)
            throw ValueError(
                "Plot::svg: \"" + visible(options.title) +
                "\" has no value to draw; give a line, points, bars or a field with finite values" +
                (x.logarithmic || y.logarithmic ? " (positive on a logarithmic axis)" : ""));
        if (groups > 0) {
            x.take(-0.5), x.take(static_cast<double>(plot.names_.size()) - 0.5);
            y.take(0);
        }
        if (!field.empty()) {
            x.take(plot.field_x_.first), x.take(plot.field_x_.second);
            y.take(plot.field_y_.first), y.take(plot.field_y_.second);
        }
        set_range(x, options.x_range, x_given, groups > 0 ? 0 : 0.02, groups > 0 ? 0 : 0.02);
        set_range(y, options.y_range, y_given, groups > 0 && y.low == 0 ? 0 : 0.05,
                  groups > 0 && y.high == 0 ? 0 : 0.05);
    }

    void set_range(Axis& axis, const Range& range, bool given, double below, double above) const {
        if (given)
            axis.low = range.first, axis.high = range.second;
        else if (!std::isfinite(axis.low))  // nothing within the other axis's range
            axis.low = axis.logarithmic ? 0.1 : 0, axis.high = 1;
        else
            axis.widen(field.empty() ? below : 0, field.empty() ? above : 0);
    }

    std::vector<const Plot::Series*> in_legend() const {
        std::vector<const Plot::Series*> shown;
        for (const Plot::Series& s : plot.series_)
            if (!s.label.empty() && s.kind <= Plot::Series::bar) shown.push_back(&s);
        return shown;
    }
    double legend_width() const {
        double widest = 0;
        for (const Plot::Series* s : in_legend()) widest = std::max(widest, figure_text_width(s->label, small));
        return widest + 34;
    }
    bool names_lean() const {
        const double slot =
            (frame.right - frame.left) / static_cast<double>(std::max<std::size_t>(1, plot.names_.size()));
        return widest(plot.names_) + 6 > slot;
    }
    static double widest(const std::vector<std::string>& texts) {
        double width = 0;
        for (const std::string& text : texts) width = std::max(width, figure_text_width(text, small));
        return width;
    }
    static double widest(const std::vector<Tick>& ticks) {
        double width = 0;
        for (const Tick& tick : ticks) width = std::max(width, figure_text_width(tick.label, small));
        return width;
    }

    void set_frame() {
        frame.top = options.title.empty() ? 14 : 38;
        frame.bottom = options.height - 26 - (options.x.empty() ? 0 : 20);
        y.from = frame.bottom, y.to = frame.top;
        y_ticks = y.ticks(45);
        frame.left = 12 + widest(y_ticks) + (options.y.empty() ? 0 : 22);
        frame.right = options.width - 18;
        if (options.legend == "right" && !in_legend().empty()) frame.right -= legend_width();
        if (!field.empty() && field_high > field_low) {
            Axis values;
            values.low = field_low, values.high = field_high, values.from = y.from, values.to = y.to;
            bar_ticks = values.ticks(45);
            frame.right -= 34 + widest(bar_ticks);
        }
        if (groups > 0 && names_lean()) {
            frame.bottom -= std::min(widest(plot.names_) * 0.5, options.height / 4);
            y.from = frame.bottom;
            y_ticks = y.ticks(45);
        }
        if (frame.right - frame.left < 40 || frame.bottom - frame.top < 40)
            throw ValueError("Plot::svg: " + number(options.width) + " × " + number(options.height) +
                             " leaves no room for the plot beside its labels; make it larger, or they shorter");
        x.from = frame.left, x.to = frame.right;
        x_ticks = x.ticks(x.logarithmic ? 45 : 70);
        if (!x.logarithmic && widest(x_ticks) > 60) x_ticks = x.ticks(widest(x_ticks) + 14);
    }

    std::string axes_svg() const {
        const double middle_x = (frame.left + frame.right) / 2, middle_y = (frame.top + frame.bottom) / 2;
        std::string svg, marks;
        for (const Tick& tick : y_ticks) {
            const double at = y.at(tick.value);
            marks += "M" + decimal(frame.left) + " " + decimal(at) + (tick.label.empty() ? "h-3" : "h-5");
            if (!tick.label.empty())
                svg += figure_text(frame.left - 8, at, tick.label, {.size = small, .anchor = "end"});
        }
        if (groups > 0) {
            for (std::size_t i = 0; i < plot.names_.size(); ++i)
                if (const double value = static_cast<double>(i); x.shows(value))
                    svg += names_lean()
                               ? figure_text(x.at(value) + 4, frame.bottom + 10, plot.names_[i],
                                             {.size = small, .anchor = "end", .rotate = -30})
                               : figure_text(x.at(value), frame.bottom + 14, plot.names_[i], {.size = small});
        } else {
            for (const Tick& tick : x_ticks) {
                const double at = x.at(tick.value);
                marks += "M" + decimal(at) + " " + decimal(frame.bottom) + (tick.label.empty() ? "v3" : "v5");
                if (!tick.label.empty()) svg += figure_text(at, frame.bottom + 15, tick.label, {.size = small});
            }
        }
        if (!marks.empty()) svg += path_shape(marks, axis);
        svg += rect_shape(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top, {}, axis);
        if (!options.title.empty())
            svg += figure_text(options.width / 2, 19, options.title, {.size = 14, .bold = true});
        if (!options.x.empty()) svg += figure_text(middle_x, options.height - 13, options.x, {.size = normal});
        if (!options.y.empty()) svg += figure_text(14, middle_y, options.y, {.size = normal, .rotate = -90});
        return svg;
    }

    std::string grid_svg() const {
        std::string data;
        for (const Tick& tick : y_ticks)
            if (!tick.label.empty())
                data +=
                    "M" + decimal(frame.left) + " " + decimal(y.at(tick.value)) + "H" + decimal(frame.right);
        for (const Tick& tick : x_ticks)
            if (!tick.label.empty() && groups == 0)
                data +=
                    "M" + decimal(x.at(tick.value)) + " " + decimal(frame.bottom) + "V" + decimal(frame.top);
        return data.empty() ? "" : path_shape(data, grid);
    }

    bool has_colours() const { return !field.empty() && plot.contours_ == 0; }
    double field_share(double value) const {
        return field_high > field_low ? (value - field_low) / (field_high - field_low) : 0.5;
    }
    double level(int i) const { return field_low + (field_high - field_low) * (i + 1) / (plot.contours_ + 1); }
    std::string contour_colour(int i) const { return viridis(0.9 * field_share(level(i))).hex(); }

    // Where the i-th of `count` values of the field stands on an axis.
    static double node(const Range& range, double i, std::int64_t count) {
        return count == 1 ? (range.first + range.second) / 2
                          : range.first + (range.second - range.first) * i / static_cast<double>(count - 1);
    }

    std::string field_svg() const {
        const std::int64_t rows = plot.field_.size(0), columns = plot.field_.size(1);
        const auto border = [](const Axis& axis, const Range& range, std::int64_t i, std::int64_t count) {
            const double value = i == 0       ? range.first
                                 : i == count ? range.second
                                              : node(range, static_cast<double>(i) - 0.5, count);
            return axis.at(std::clamp(value, axis.low, axis.high));
        };
        // Neighbours of one colour are one piece, and pieces of one colour one path: else a field is megabytes.
        constexpr int shades = 96;
        constexpr int nothing = -1;
        const auto shade = [&](std::int64_t r, std::int64_t c) {
            const double value = field[static_cast<std::size_t>(r * columns + c)];
            return std::isfinite(value) ? static_cast<int>(field_share(value) * (shades - 1) + 0.4871)
                                        : nothing;
        };
        std::map<int, std::string> paths;
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::string low = decimal(border(y, plot.field_y_, r, rows)),
                              high = decimal(border(y, plot.field_y_, r + 1, rows));
            if (low == high) continue;  // outside
            for (std::int64_t from = 0, to = 0; from < columns; from = to) {
                const int colour = shade(r, from);
                for (to = from; to < columns && shade(r, to) == colour;) ++to;
                const std::string left = decimal(border(x, plot.field_x_, from, columns)),
                                  right = decimal(border(x, plot.field_x_, to, columns));
                if (colour != nothing && left != right)
                    paths[colour] += "M" + left + " " + low + "H" + right + "V" + high + "H" + left + "Z";
            }
        }
        std::string svg = "<g shape-rendering=\"crispEdges\">\n";
        for (const auto& [colour, data] : paths)
            svg += path_shape(data, none, {viridis(static_cast<double>(colour) / (shades - 1)).hex(), 1});
        return svg + "</g>\n";
    }

    std::string contours_svg() const {
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

    std::string colour_bar_svg() const {
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
            svg += path_shape(points_data({{left + width, at}, {left + width + 4, at}}), axis) +
                   figure_text(left + width + 7, at, tick.label, {.size = small, .anchor = "start"});
        }
        return svg;
    }

    Points pixels(const Plot::Series& s) const {
        Points points;
        for (std::size_t i = 0; i < s.x.size(); ++i)
            if (x.holds(s.x[i]) && y.holds(s.y[i]))
                points.emplace_back(x.at(s.x[i]), y.at(s.y[i]));
            else
                points.emplace_back(NAN, NAN);
        return points;
    }

    std::string dots_svg(const Plot::Series& s) const {
        const double radius = s.kind == Plot::Series::dots ? s.style.width + 1.5 : s.style.width + 0.75;
        std::string svg;
        for (const auto& [px, py] : pixels(s))
            if (std::isfinite(px) && std::isfinite(py) && frame.has(px, py))
                svg += circle_shape(px, py, radius, s.style.colour,
                                    has_colours() ? Stroke{"#fff", 1, false} : none);
        return svg;
    }

    std::string line_svg(const Plot::Series& s) const {
        const std::string data = clipped_data(frame, pixels(s));
        if (data.empty()) return {};
        std::string svg;
        if (has_colours()) svg += path_shape(data, {"#fff", s.style.width + 2, false});  // apart from the field
        return svg + path_shape(data, {s.style.colour, s.style.width, s.style.dashed});
    }

    std::string bars_svg(const Plot::Series& s, std::size_t group) const {
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
                                  {s.style.colour, 1});
        }
        return svg;
    }

    std::string across_svg(const Plot::Series& s, std::size_t& uprights) const {
        const Stroke stroke = {s.style.colour, std::min(s.style.width, 1.5), s.style.dashed};
        const double label_width = figure_text_width(s.label, small);
        std::string svg;
        if (s.kind == Plot::Series::across_x && x.shows(s.x[0])) {
            const double at = x.at(s.x[0]);
            svg += path_shape(points_data({{at, frame.bottom}, {at, frame.top}}), stroke);
            const bool left = at + label_width + 10 > frame.right;
            if (!s.label.empty())
                svg += backed_text(left ? at - 6 : at + 6,
                                   frame.top + 12 + 16 * static_cast<double>(uprights++ % 4), s.label,
                                   {.size = small, .anchor = left ? "end" : "start", .colour = s.style.colour});
        }
        if (s.kind == Plot::Series::across_y && y.shows(s.y[0])) {
            const double at = y.at(s.y[0]);
            svg += path_shape(points_data({{frame.left, at}, {frame.right, at}}), stroke);
            if (!s.label.empty())
                svg += backed_text(frame.right - 6, at - 10 < frame.top + 8 ? at + 11 : at - 10, s.label,
                                   {.size = small, .anchor = "end", .colour = s.style.colour});
        }
        return svg;
    }

    std::string legend_svg() const {
        const std::vector<const Plot::Series*> shown = in_legend();
        if (shown.empty()) return {};
        constexpr double step = 20;
        const double width = legend_width(), height = step * static_cast<double>(shown.size()) + 4;
        const std::string& place = options.legend;
        std::string svg;
        double left = options.width - width - 4, top = frame.top;
        if (place != "right") {
            left = place.find("left") != std::string::npos ? frame.left + 8 : frame.right - width - 8;
            top = place.find("top") != std::string::npos ? frame.top + 8 : frame.bottom - height - 8;
            svg += rect_shape(left, top, width, height, {"#fff", 0.85}, {"#ccc", 1, false}, 3);
        }
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const Plot::Series& s = *shown[i];
            const double at = top + 2 + step * (static_cast<double>(i) + 0.5), middle = left + 16;
            if (s.kind == Plot::Series::bar) svg += rect_shape(left + 10, at - 6, 12, 12, {s.style.colour, 1});
            if (s.kind == Plot::Series::lines)
                svg += path_shape(points_data({{left + 5, at}, {left + 27, at}}),
                                  {s.style.colour, s.style.width, s.style.dashed});
            if (s.kind == Plot::Series::dots || s.style.markers)
                svg += circle_shape(middle, at, std::min(6.0, s.style.width + (s.style.markers ? 0.75 : 1.5)),
                                    s.style.colour);
            svg += figure_text(left + 32, at, s.label, {.size = small, .anchor = "start"});
        }
        return svg;
    }

    std::string svg() const {
        std::string behind, text, front;
        std::size_t group = 0, uprights = 0;
        if (has_colours())
            behind += field_svg();
        else
            behind += grid_svg() + (field.empty() ? "" : contours_svg());
        for (const Plot::Series& s : plot.series_) {
            if (s.kind == Plot::Series::bar) behind += bars_svg(s, group++);
            if (s.kind == Plot::Series::lines) front += line_svg(s);
            if (s.kind == Plot::Series::dots || s.style.markers) front += dots_svg(s);
            if (s.kind >= Plot::Series::across_x) text += across_svg(s, uprights);
        }
        const std::string title = options.title.empty() ? options.y + " against " + options.x : options.title;
        return figure_start(options.width, options.height, title) + behind + text + front + axes_svg() +
               colour_bar_svg() + legend_svg() + svg_end();
    }
};

std::string Plot::svg() const { return PlotPicture(*this).svg(); }

}  // namespace weft::viz
