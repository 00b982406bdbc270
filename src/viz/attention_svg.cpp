// Attention maps as SVG: one head with a tooltip on each cell, or a row of heads for each layer.
#include <algorithm>
#include <cmath>

#include "viz/axis.h"
#include "weft/base/text.h"
#include "weft/viz/attention_map.h"

namespace weft::viz {
namespace {

constexpr double margin = 16, gap = 10, bar_width = 14;
constexpr double labels_from = 9, numbers_from = 34;  // the smallest cells with labels and with numbers
constexpr std::size_t max_label = 20;                 // columns
constexpr std::int64_t max_tooltips = 20000;          // tooltips on more cells would take megabytes
constexpr const char *leak_colour = "#d00", *hatch = "url(#blocked)";

double mono_width(const std::string& text, double size) {
    return static_cast<double>(display_width(visible(text))) * 0.602 * size;
}

double widest(const std::vector<std::string>& labels, double size) {
    double width = 0;
    for (const std::string& label : labels)
        width = std::max(width, mono_width(truncated(label, max_label), size));
    return width;
}

// Labels of equal cells, beside the rows or above the columns; above, they are rotated if they are wider than a
// cell. If cells are smaller than letters, only every `step`-th label is drawn.
struct CellLabels {
    const std::vector<std::string>& texts;
    double cell;
    bool beside;
    double size = std::clamp(std::floor(cell * 0.8), 8.0, 12.0);  // font size
    double width = widest(texts, size);
    bool upright = !beside && width + 4 > cell;
    double extent = beside || upright ? width : size;  // the room that the labels take away from the cells
    std::size_t step =
        static_cast<std::size_t>(beside || upright ? std::max(1.0, std::ceil(size * 1.15 / cell)) : 1);

    // Beside: labels end at x, and the first cell starts at y. Above: labels end at y, and it starts at x.
    std::string svg(double x, double y) const {
        std::string svg;
        for (std::size_t i = 0; i < texts.size(); i += step) {
            const double middle = (static_cast<double>(i) + 0.5) * cell;
            const std::string text = truncated(texts[i], max_label);
            if (beside)
                svg += svg_text(x, y + middle, text, {.size = size, .anchor = "end"});
            else if (upright)
                svg += svg_text(x + middle, y, text, {.size = size, .anchor = "start", .rotate = -90});
            else
                svg += svg_text(x + middle, y - size / 2, text, {.size = size});
        }
        return svg;
    }
};

// ".71", "1.0"
std::string short_number(double weight) {
    const auto hundredths = static_cast<int>(std::lround(weight * 100));
    if (hundredths >= 100) return decimal(std::round(weight * 10) / 10) + (hundredths % 100 < 5 ? ".0" : "");
    return std::string(hundredths < 10 ? ".0" : ".") + std::to_string(hundredths);
}

// The i-th cell of a head with upper left corner (left, upper), with a tooltip.
std::string cell_svg(const AttentionMap& map, const HeadMap& head, std::size_t i, double left, double upper,
                     double size) {
    const std::size_t t = i / map.labels.keys.size(), s = i % map.labels.keys.size();
    const double x = left + static_cast<double>(s) * size, y = upper + static_cast<double>(t) * size;
    const bool leaks = head.leaks(i), hatched = head.blocked[i] && !leaks;
    const Colour colour = viridis(head.weights[i] / map.top);
    std::string svg = rect_shape(x, y, size, size, {head.blocked[i] ? hatch : colour.hex()},
                                 leaks ? Stroke{leak_colour, 1, false} : no_stroke);
    svg.resize(svg.rfind("/>"));
    svg += "><title>" + xml(map.labels.queries[t] + " → " + map.labels.keys[s]) +
           (leaks ? ": blocked, yet " : ": ") + (hatched ? "blocked" : format_number(head.weights[i])) +
           "</title></rect>\n";
    const char* const ink = leaks ? leak_colour : colour.is_dark() ? "#fff" : "#111";
    if (size < numbers_from || hatched) return svg;
    return svg +
           svg_text(x + size / 2, y + size / 2, short_number(head.weights[i]), {.size = 11, .colour = ink});
}

// The cells that are not blocked, or leak, in units of cells.
std::string cells_svg(const HeadMap& head, const AttentionMap& map) {
    constexpr int levels = 255, leak = -1;
    const auto level = [&](std::int64_t t, std::int64_t s) {
        const auto cell = static_cast<std::size_t>(t * map.S + s);
        if (head.blocked[cell]) return head.leaks(cell) ? leak : no_level;
        return static_cast<int>(std::lround(std::min(1.0, head.weights[cell] / map.top) * levels));
    };
    const auto paths = cell_paths(map.T, map.S, level, std::identity(), std::identity());
    std::string svg;
    for (const auto& [level, path] : paths)
        svg += "<path fill=\"" +
               (level == leak ? leak_colour : viridis(static_cast<double>(level) / levels).hex()) + "\" d=\"" +
               path + "\"/>\n";
    return svg;
}

// One head with upper left corner (x, y) and cells `size` wide.
std::string panel_svg(const AttentionMap& map, const HeadMap& head, double x, double y, double size,
                      const std::string& title) {
    const double width = static_cast<double>(map.S) * size, height = static_cast<double>(map.T) * size;
    return "<g><title>" + xml(title) + "</title>\n" + rect_shape(x, y, width, height, {hatch}) +
           "<g transform=\"translate(" + decimal(x) + " " + decimal(y) + ") scale(" + format_number(size, 9) +
           ")\" shape-rendering=\"crispEdges\">\n" + cells_svg(head, map) + "</g>\n" +
           rect_shape(x, y, width, height, {}, {"#999", 0.5, false}) + "</g>\n";
}

// A bar from 0 at the bottom to map.top with upper left corner (x, y), above a legend of hatched and red cells.
std::string colour_bar(const AttentionMap& map, double x, double y, double height) {
    std::string svg = rect_shape(x, y, bar_width, height, {"url(#viridis)"});
    const int steps = height >= 80 ? 4 : height >= 40 ? 2 : 1;
    for (int i = 0; i <= steps; ++i) {
        const double at = y + height * (1 - static_cast<double>(i) / steps);
        svg += "<path d=\"M" + point_data({x + bar_width, at}) + "h4\" stroke=\"#222\"/>\n" +
               svg_text(x + bar_width + 7, at, format_number(map.top * i / steps, 3),
                        {.size = 11, .anchor = "start"});
    }
    svg += svg_text(x, y - 18, "weight", {.size = 11, .anchor = "start"});
    const auto swatch = [&](double under, const char* fill, const char* what) {
        const double at = y + height + under;
        svg += rect_shape(x, at, bar_width, bar_width, {fill}, {"#bbb", 0.5, false}) +
               svg_text(x + bar_width + 7, at + bar_width / 2, what, {.size = 11, .anchor = "start"});
    };
    if (map.has_mask) swatch(16, hatch, "blocked");
    if (map.leaks) swatch(36, leak_colour, "yet > 0");
    return svg;
}

// The whole picture: `content` at (left, upper), the title above it, the colour bar to its right.
std::string sheet(const AttentionMap& map, const std::string& title, const char* untitled, double left,
                  double upper, double width, double height, const std::string& content) {
    std::string defs = "<defs>\n<linearGradient id=\"viridis\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">\n";
    for (int i = 0; i < 16; ++i) {
        const double offset = i / 15.0;
        defs += "<stop offset=\"" + format_number(offset, 4) + "\" stop-color=\"" + viridis(offset).hex() +
                "\"/>\n";
    }
    defs +=
        "</linearGradient>\n<pattern id=\"blocked\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f3f3f3\"/><rect width=\"1.6\" "
        "height=\"6\" fill=\"#c9c9c9\"/></pattern>\n</defs>\n";
    constexpr double bar_room = 96;  // width of the colour bar with its numbers
    const double bar = std::clamp(height, 60.0, 240.0), bar_x = left + width + 24;
    const double legend = map.leaks ? 52 : map.has_mask ? 32 : 0;
    std::string heading;
    if (!title.empty())
        heading = svg_text(margin, margin + 8, visible(title), {.size = 15, .anchor = "start", .bold = true});
    return svg_picture(std::max(bar_x + bar_room, 2 * margin + mono_width(title, 15)),
                       upper + std::max(height, bar + legend) + margin,
                       title.empty() ? untitled : visible(title),
                       heading + content + colour_bar(map, bar_x, upper, bar), defs,
                       "DejaVu Sans Mono, Menlo, Consolas, monospace");
}

double title_height(const MapOptions& options) { return options.title.empty() ? 0 : 28; }

}  // namespace

std::string attention_svg(const Tensor& weights, const MapOptions& options) {
    const AttentionMap map = make_attention_map("attention_svg", {weights}, options);
    if (map.layers[0].size() != 1)
        throw ShapeError("attention_svg: weights of shape ", weights.shape(), " are ", map.layers[0].size(),
                         " heads; draw one with weights[h], or all with attention_grid_svg");
    const HeadMap& head = map.layers[0][0];
    const auto T = static_cast<double>(map.T), S = static_cast<double>(map.S);
    const double size = std::clamp(std::floor(640 / std::max({T, S, 1.0})), 2.0, 44.0);
    const CellLabels rows{map.labels.queries, size, /*beside=*/true};
    const CellLabels tops{map.labels.keys, size, /*beside=*/false};
    const double left = margin + 20 + rows.extent + 6;
    const double upper = margin + title_height(options) + 18 + tops.extent + 6;

    std::string svg =
        svg_text(left + S * size / 2, margin + title_height(options) + 6, "key",
                 {.size = 11, .colour = "#666"}) +
        svg_text(margin + 6, upper + T * size / 2, "query", {.size = 11, .colour = "#666", .rotate = -90}) +
        tops.svg(left, upper - 6) + rows.svg(left - 6, upper);
    if (map.T * map.S > max_tooltips) {
        svg += panel_svg(map, head, left, upper, size, visible(options.title));
    } else {
        svg += "<g shape-rendering=\"crispEdges\">\n";
        for (std::size_t i = 0; i < head.weights.size(); ++i) svg += cell_svg(map, head, i, left, upper, size);
        svg += "</g>\n";
    }
    return sheet(map, options.title, "attention weights", left, upper, S * size, T * size, svg);
}

std::string attention_grid_svg(const std::vector<Tensor>& layers, const MapOptions& options) {
    const AttentionMap map = make_attention_map("attention_grid_svg", layers, options);
    std::size_t most = 1;
    for (const auto& heads : map.layers) most = std::max(most, heads.size());
    const auto T = static_cast<double>(map.T), S = static_cast<double>(map.S);
    const double side = std::clamp(std::floor(1100 / static_cast<double>(most)), 64.0, 260.0);
    const double size = std::min(44.0, side / std::max({T, S, 1.0}));
    const bool labelled = size >= labels_from;
    const CellLabels rows{map.labels.queries, size, /*beside=*/true};
    const CellLabels tops{map.labels.keys, size, /*beside=*/false};
    const double left = margin + 22 + (labelled ? rows.extent + 6 : 0);
    const double heading = margin + title_height(options);
    const double upper = heading + 20 + (labelled ? tops.extent + 6 : 0);

    const auto name = [](const char* what, std::size_t i) { return what + std::to_string(i + 1); };
    // A heading may be wider than its panels.
    const double column = std::max(S * size, mono_width(name("head ", most - 1), 12)) + gap;
    const double row = std::max(T * size, mono_width(name("layer ", map.layers.size() - 1), 12)) + gap;
    std::string svg;
    for (std::size_t h = 0; h < most; ++h) {
        const double x = left + column * static_cast<double>(h);
        svg += svg_text(x + S * size / 2, heading + 6, name("head ", h), {.size = 12});
        if (labelled) svg += tops.svg(x, upper - 6);
    }
    for (std::size_t l = 0; l < map.layers.size(); ++l) {
        const double y = upper + row * static_cast<double>(l);
        svg += svg_text(margin + 6, y + T * size / 2, name("layer ", l), {.size = 12, .rotate = -90});
        if (labelled) svg += rows.svg(left - 6, y);
        for (std::size_t h = 0; h < map.layers[l].size(); ++h)
            svg += panel_svg(map, map.layers[l][h], left + column * static_cast<double>(h), y, size,
                             name("layer ", l) + ", " + name("head ", h));
    }
    return sheet(map, options.title, "attention weights of all heads", left, upper,
                 column * static_cast<double>(most) - gap, row * static_cast<double>(map.layers.size()) - gap,
                 svg);
}

}  // namespace weft::viz
