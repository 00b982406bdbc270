#include "viz/svg.h"

#include <array>
#include <cmath>

namespace weft::viz {
namespace {

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

// A hyphen is too short for a minus.
std::string with_minus(const std::string& text) { return text[0] == '-' ? "−" + text.substr(1) : text; }

}  // namespace

std::string svg_start(double width, double height, const std::string& title, const std::string& defs,
                      const char* font) {
    const std::string w = decimal(width), h = decimal(height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", w) + attribute("height", h) +
           " viewBox=\"0 0 " + w + " " + h + "\"" + attribute("font-family", font) + " role=\"img\">\n<title>" +
           xml(shown(title)) + "</title>\n" + defs + "<rect" + attribute("width", w) + attribute("height", h) +
           " fill=\"#fff\"/>\n";
}

std::string svg_end() { return "</svg>\n"; }

std::string svg_text(double x, double y, const std::string& text, const Label& label) {
    std::string tag = "<text" + attribute("x", x) + attribute("y", y) + attribute("font-size", label.size) +
                      attribute("text-anchor", label.anchor) + attribute("fill", label.colour);
    if (label.bold) tag += " font-weight=\"bold\"";
    if (label.rotate != 0)
        tag += " transform=\"rotate(" + decimal(label.rotate) + " " + decimal(x) + " " + decimal(y) + ")\"";
    return tag + " dy=\"0.35em\" xml:space=\"preserve\">" + xml(shown(text)) + "</text>\n";
}

double text_width(const std::string& text, double size) {
    double narrow = 0, wide = 0;  // DejaVu Sans is among the widest
    for (const char c : text) {
        if (std::string_view(" ijlftrI.,:;|!'()[]/\"`").find(c) != std::string_view::npos) ++narrow;
        if (std::string_view("mwMWQ%@&").find(c) != std::string_view::npos) ++wide;
    }
    return (static_cast<double>(columns(visible(text))) * 0.64 - narrow * 0.27 + wide * 0.3) * size;
}

std::string points_data(const Points& points, bool closed) {
    std::string data;
    for (const auto& [x, y] : points) data += (data.empty() ? "M" : "L") + decimal(x) + " " + decimal(y);
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
    const std::string text = number(value, digits);
    const std::size_t e = text.find('e');
    if (e == std::string::npos) return with_minus(text);
    const int exponent = std::stoi(text.substr(e + 1));
    const std::string factor = text.substr(0, e);
    return with_minus(factor == "1" ? "" : factor == "-1" ? "-" : factor + "·") + power_of_ten(exponent);
}

std::string fixed_number(double value, int decimals) {
    return with_minus(text::chars(value + 0.0, std::chars_format::fixed, decimals));
}

void check_finite(const char* operation, std::initializer_list<double> lengths) {
    for (const double length : lengths)
        if (!std::isfinite(length))
            throw ValueError(std::string(operation) + ": a length is " + number(length) +
                             "; give finite lengths");
}

void check_positive(const char* operation, const char* what, double size) {
    if (!(size > 0) || !std::isfinite(size))
        throw ValueError(std::string(operation) + ": " + what + " is " + number(size) +
                         "; give a positive, finite number");
}

void check_label(const char* operation, const Label& label) {
    check_positive(operation, "the text's size", label.size);
    check_finite(operation, {label.rotate});
    if (label.anchor != "start" && label.anchor != "middle" && label.anchor != "end")
        throw ValueError(std::string(operation) + ": anchor \"" + visible(label.anchor) +
                         "\"; choose start, middle or end");
}

}  // namespace weft::viz
