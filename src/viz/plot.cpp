#include <algorithm>
#include <array>
#include <cmath>

#include "viz/plot_picture.h"
#include "weft/base/numbers.h"

namespace weft::viz {
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
