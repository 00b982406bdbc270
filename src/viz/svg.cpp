#include "viz/axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/base/text.h"

namespace weft::viz {
namespace {

constexpr std::array<std::uint32_t, 16> viridis_points = {
    0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e, 0x2a788e, 0x23888e,
    0x1f988b, 0x22a884, 0x35b779, 0x54c568, 0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725};

std::string attribute(const char* name, const std::string& value) {
    return std::string(" ") + name + "=\"" + xml(visible(value)) + "\"";
}

std::string attribute(const char* name, double value) { return attribute(name, decimal(value)); }

std::string stroke_attributes(const Stroke& stroke) {
    if (!(stroke.width > 0)) return {};
    return attribute("stroke", stroke.colour) + attribute("stroke-width", stroke.width) +
           (stroke.dashed ? " stroke-dasharray=\"6 4\"" : "");
}

std::string fill_attributes(const Fill& fill) {
    return attribute("fill", fill.colour) + (fill.opacity < 1 ? attribute("fill-opacity", fill.opacity) : "");
}

// With a minus sign instead of a hyphen.
std::string with_minus(const std::string& text) { return text[0] == '-' ? "−" + text.substr(1) : text; }

}  // namespace

std::string Colour::hex() const {
    return "#" + to_chars(1u << 24 | std::uint32_t{red} << 16 | std::uint32_t{green} << 8 | blue, 16).substr(1);
}

bool Colour::is_dark() const {
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 140;  // luma of Rec. 709
}

Colour colour_of(std::uint32_t rgb) {
    const auto part = [rgb](int shift) { return static_cast<std::uint8_t>(rgb >> shift & 255); };
    return {part(16), part(8), part(0)};
}

Colour mixed(const Colour& a, const Colour& b, double share) {
    const auto between = [share](std::uint8_t from, std::uint8_t to) {
        return static_cast<std::uint8_t>(std::lround(from + share * (to - from)));
    };
    return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

Colour viridis(double share) {
    const double at = std::clamp(share, 0.0, 1.0) * (viridis_points.size() - 1);
    const auto low = std::min(static_cast<std::size_t>(at), viridis_points.size() - 2);
    return mixed(colour_of(viridis_points[low]), colour_of(viridis_points[low + 1]),
                 at - static_cast<double>(low));
}

std::string svg_picture(double width, double height, const std::string& title, const std::string& content,
                        const std::string& defs, const char* font) {
    const std::string w = decimal(width), h = decimal(height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", w) + attribute("height", h) +
           " viewBox=\"0 0 " + w + " " + h + "\"" + attribute("font-family", font) + " role=\"img\">\n<title>" +
           xml(shown(title)) + "</title>\n" + defs + "<rect" + attribute("width", w) + attribute("height", h) +
           " fill=\"#fff\"/>\n" + content + "</svg>\n";
}

std::string svg_text(double x, double y, const std::string& text, const Label& label) {
    std::string tag = "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", label.size) +
                      attribute("text-anchor", label.anchor) + attribute("fill", label.colour);
    if (label.bold) tag += " font-weight=\"bold\"";
    if (label.rotate != 0)
        tag += " transform=\"rotate(" + decimal(label.rotate) + " " + point_data({x, y}) + ")\"";
    return tag + " dy=\"0.35em\" xml:space=\"preserve\">" + xml(shown(text)) + "</text>\n";
}

double text_width(const std::string& text, double size) {
    double narrow = 0, wide = 0;  // the factors fit DejaVu Sans, which is among the widest fonts
    for (const char c : text) {
        if (std::string_view(" ijlftrI.,:;|!'()[]/\"`").find(c) != std::string_view::npos) ++narrow;
        if (std::string_view("mwMWQ%@&").find(c) != std::string_view::npos) ++wide;
    }
    return (static_cast<double>(display_width(visible(text))) * 0.64 - narrow * 0.27 + wide * 0.3) * size;
}

std::string point_data(const Point& point) { return decimal(point.first) + " " + decimal(point.second); }

std::string points_data(const Points& points, bool closed) {
    std::string data;
    for (const Point& point : points) data += (data.empty() ? "M" : "L") + point_data(point);
    return data + (closed ? "Z" : "");
}

std::string path_shape(const std::string& data, const Stroke& stroke, const Fill& fill) {
    return "<path d=\"" + data + "\"" + fill_attributes(fill) + stroke_attributes(stroke) +
           " stroke-linejoin=\"round\"/>\n";
}

std::string line_shape(double x1, double y1, double x2, double y2, const Stroke& stroke) {
    return path_shape(points_data({{x1, y1}, {x2, y2}}), stroke);
}

std::string rect_shape(double x, double y, double width, double height, const Fill& fill, const Stroke& stroke,
                       double radius) {
    return "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height) + (radius > 0 ? attribute("rx", radius) : "") + fill_attributes(fill) +
           stroke_attributes(stroke) + "/>\n";
}

std::string circle_shape(double x, double y, double radius, const std::string& fill, const Stroke& stroke) {
    return "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) +
           attribute("fill", fill) + stroke_attributes(stroke) + "/>\n";
}

std::map<int, std::string> cell_paths(std::int64_t rows, std::int64_t columns,
                                      const std::function<int(std::int64_t, std::int64_t)>& level,
                                      const Position& x, const Position& y) {
    std::map<int, std::string> paths;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t from = 0, to = 0; from < columns; from = to) {
            const int here = level(r, from);
            while (to < columns && level(r, to) == here) ++to;
            if (here == no_level) continue;
            const std::int64_t width = x(to) - x(from), top = std::min(y(r), y(r + 1));
            paths[here] += "M" + std::to_string(x(from)) + " " + std::to_string(top) + "h" +
                           std::to_string(width) + "v" + std::to_string(std::abs(y(r + 1) - y(r))) + "h" +
                           std::to_string(-width) + "z";
        }
    return paths;
}

std::string power_of_ten(int exponent) {
    constexpr std::array<const char*, 10> digits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = exponent < 0 ? "10⁻" : "10";
    for (const char c : std::to_string(std::abs(exponent))) text += digits[static_cast<std::size_t>(c - '0')];
    return text;
}

std::string figure_number(double value, int digits) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
    if (value == 0) return "0";
    const std::string text = format_number(value, digits);
    const std::size_t e = text.find('e');
    if (e == std::string::npos) return with_minus(text);
    const int exponent = std::stoi(text.substr(e + 1));
    const std::string factor = text.substr(0, e);
    return with_minus(factor == "1" ? "" : factor == "-1" ? "-" : factor + "·") + power_of_ten(exponent);
}

std::string fixed_number(double value, int decimals) {
    return with_minus(to_chars(value + 0.0, std::chars_format::fixed, decimals));
}

void check_finite(const char* operation, std::initializer_list<double> lengths) {
    for (const double length : lengths)
        if (!std::isfinite(length))
            throw ValueError(operation, ": a length is ", format_number(length), "; give finite lengths");
}

void check_positive(const char* operation, const char* what, double size) {
    if (!(size > 0) || !std::isfinite(size))
        throw ValueError(operation, ": ", what, " is ", format_number(size),
                         "; give a positive, finite number");
}

void check_label(const char* operation, const Label& label) {
    check_positive(operation, "the text's size", label.size);
    check_finite(operation, {label.rotate});
    if (label.anchor != "start" && label.anchor != "middle" && label.anchor != "end")
        throw ValueError(operation, ": anchor \"", visible(label.anchor), "\"; choose start, middle or end");
}

}  // namespace weft::viz
