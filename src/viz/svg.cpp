#include "viz/svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "viz/colour.h"
#include "viz/text.h"

namespace weft::viz {
namespace {
constexpr std::size_t longest_label = 20;  // characters
}

std::string svg_text(double x, double y, const std::string& text, const TextStyle& style) {
    std::string tag = "<text x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" font-size=\"" +
                      decimal(style.size) + "\" text-anchor=\"" + style.anchor + "\" fill=\"" + style.fill +
                      "\"";
    if (style.bold) tag += " font-weight=\"bold\"";
    if (style.rotate != 0)
        tag += " transform=\"rotate(" + decimal(style.rotate) + " " + decimal(x) + " " + decimal(y) + ")\"";
    return tag + " dy=\"0.35em\" xml:space=\"preserve\">" + xml(text) + "</text>\n";
}

double text_width(const std::string& text, double size) {
    return static_cast<double>(columns(visible(text))) * character * size;
}

LabelLayout label_layout(const std::vector<std::string>& labels, double cell, bool beside) {
    LabelLayout layout;
    layout.size = std::clamp(std::floor(cell * 0.8), 8.0, 12.0);
    double widest = 0;
    for (const std::string& label : labels)
        widest = std::max(widest, text_width(shortened(label, longest_label), layout.size));
    layout.upright = !beside && widest + 4 > cell;
    layout.extent = beside || layout.upright ? widest : layout.size;
    const double height = layout.size * 1.15;
    if (beside || layout.upright)
        layout.step = static_cast<std::size_t>(std::max(1.0, std::ceil(height / cell)));
    return layout;
}

std::string labels_svg(const std::vector<std::string>& labels, const LabelLayout& layout, double x, double y,
                       double cell, bool beside) {
    std::string svg;
    for (std::size_t i = 0; i < labels.size(); i += layout.step) {
        const double middle = (static_cast<double>(i) + 0.5) * cell;
        const std::string label = shortened(labels[i], longest_label);
        if (beside)
            svg += svg_text(x, y + middle, label, {.size = layout.size, .anchor = "end"});
        else if (layout.upright)
            svg += svg_text(x + middle, y, label, {.size = layout.size, .rotate = -90});
        else
            svg += svg_text(x + middle, y - layout.size / 2, label, {.size = layout.size, .anchor = "middle"});
    }
    return svg;
}

std::string svg_start(double width, double height, const std::string& title) {
    std::string text =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + decimal(width) + "\" height=\"" +
        decimal(height) + "\" viewBox=\"0 0 " + decimal(width) + " " + decimal(height) +
        "\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" role=\"img\">\n<title>" + xml(title) +
        "</title>\n<defs>\n<linearGradient id=\"viridis\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">\n";
    for (std::size_t i = 0; i < viridis_points.size(); ++i)
        text += "<stop offset=\"" + number(static_cast<double>(i) / (viridis_points.size() - 1), 4) +
                "\" stop-color=\"" + viridis_points[i].hex() + "\"/>\n";
    return text +
           "</linearGradient>\n<pattern id=\"blocked\" width=\"6\" height=\"6\" "
           "patternUnits=\"userSpaceOnUse\" "
           "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f3f3f3\"/><rect "
           "width=\"1.6\" "
           "height=\"6\" fill=\"#c9c9c9\"/></pattern>\n</defs>\n<rect width=\"" +
           decimal(width) + "\" height=\"" + decimal(height) + "\" fill=\"#fff\"/>\n";
}

std::string svg_end() { return "</svg>\n"; }

double legend_height(bool has_mask, bool leaks) { return leaks ? 52 : has_mask ? 32 : 0; }

std::string colour_bar(double x, double y, double height, double top, bool has_mask, bool leaks) {
    constexpr double width = 14;
    std::string text = "<rect x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" width=\"" + decimal(width) +
                       "\" height=\"" + decimal(height) + "\" fill=\"url(#viridis)\"/>\n";
    const int steps = height >= 80 ? 4 : height >= 40 ? 2 : 1;
    for (int i = 0; i <= steps; ++i) {
        const double at = y + height * (1 - static_cast<double>(i) / steps);
        text += "<path d=\"M" + decimal(x + width) + " " + decimal(at) + "h4\" stroke=\"#222\"/>\n" +
                svg_text(x + width + 7, at, number(top * i / steps, 3), {.size = 11});
    }
    text += svg_text(x, y - 18, "weight", {.size = 11});
    const auto swatch = [&](double under, const char* fill, const char* what) {
        const double at = y + height + under;
        return "<rect x=\"" + decimal(x) + "\" y=\"" + decimal(at) + "\" width=\"" + decimal(width) +
               "\" height=\"" + decimal(width) + "\" fill=\"" + fill +
               "\" stroke=\"#bbb\" stroke-width=\"0.5\"/>\n" +
               svg_text(x + width + 7, at + width / 2, what, {.size = 11});
    };
    if (has_mask) text += swatch(16, "url(#blocked)", "blocked");
    if (leaks) text += swatch(36, "#d00", "yet > 0");
    return text;
}

}  // namespace weft::viz
