// One head as SVG: a rectangle per cell, which says its number when pointed at.
#include <algorithm>
#include <cmath>

#include "viz/colour.h"
#include "viz/map.h"
#include "viz/svg.h"
#include "viz/text.h"

namespace weft::viz {
namespace {

constexpr double margin = 16, numbers_from = 34;  // numbers are written into cells of that size
constexpr std::int64_t most_tooltips = 20000;     // above that many cells they would fill megabytes

// ".71", "1.0"
std::string short_number(double weight) {
    const auto hundredths = static_cast<int>(std::lround(weight * 100));
    if (hundredths >= 100) return decimal(std::round(weight * 10) / 10) + (hundredths % 100 < 5 ? ".0" : "");
    return std::string(hundredths < 10 ? ".0" : ".") + std::to_string(hundredths);
}

std::string cell_svg(double x, double y, double size, const std::string& what, const HeadMap& head,
                     std::size_t cell, double top) {
    const double weight = head.weights[cell];
    const bool blocked = head.blocked[cell];
    const Colour colour = viridis(weight / top);
    std::string text = "<rect x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" width=\"" + decimal(size) +
                       "\" height=\"" + decimal(size) + "\" fill=\"" +
                       (blocked ? "url(#blocked)" : colour.hex()) + "\"";
    if (head.leaks(cell)) text += " stroke=\"#d00\"";
    text += "><title>" + xml(what) + ": " +
            (head.leaks(cell) ? "blocked, yet " + number(weight)
             : blocked        ? "blocked"
                              : number(weight)) +
            "</title></rect>\n";
    if (size >= numbers_from && (!blocked || head.leaks(cell)))
        text += svg_text(x + size / 2, y + size / 2, short_number(weight),
                         {.size = 11,
                          .anchor = "middle",
                          .fill = head.leaks(cell)   ? "#d00"
                                  : colour.is_dark() ? "#fff"
                                                     : "#111"});
    return text;
}

}  // namespace

std::string attention_svg(const Tensor& weights, const MapOptions& options) {
    const Map map = map_of("attention_svg", {weights}, options);
    if (map.layers[0].heads.size() != 1)
        throw ShapeError("attention_svg: weights of shape " + weights.shape().str() + " are " +
                         std::to_string(map.layers[0].heads.size()) +
                         " heads; draw one with weights[h], or all with attention_grid_svg");
    const HeadMap& head = map.layers[0].heads[0];
    const auto T = static_cast<double>(map.T), S = static_cast<double>(map.S);
    const double size = std::clamp(std::floor(640 / std::max({T, S, 1.0})), 2.0, 44.0);
    const LabelLayout rows = label_layout(map.queries, size, /*beside=*/true),
                      tops = label_layout(map.keys, size, /*beside=*/false);

    const double title_height = options.title.empty() ? 0 : 28;
    const double left = margin + 20 + rows.extent + 6, upper = margin + title_height + 18 + tops.extent + 6;
    const double bar = std::max(60.0, std::min(T * size, 240.0)), bar_x = left + S * size + 24;
    const double width = std::max(bar_x + colour_bar_width, 2 * margin + text_width(options.title, 15)),
                 height = upper + std::max(T * size, bar + legend_height(map.has_mask, map.leaks)) + margin;

    const std::string title = visible(options.title);
    std::string svg = svg_start(width, height, title.empty() ? "attention weights" : title);
    if (!title.empty()) svg += svg_text(margin, margin + 8, title, {.size = 15, .bold = true});
    svg += svg_text(left + S * size / 2, margin + title_height + 6, "key",
                    {.size = 11, .anchor = "middle", .fill = "#666"});
    svg += svg_text(margin + 6, upper + T * size / 2, "query",
                    {.size = 11, .anchor = "middle", .fill = "#666", .rotate = -90});
    svg += labels_svg(map.keys, tops, left, upper - 6, size, /*beside=*/false);
    svg += labels_svg(map.queries, rows, left - 6, upper, size, /*beside=*/true);
    if (map.T * map.S > most_tooltips)
        return svg + panel_svg(map, head, left, upper, size, title) +
               colour_bar(bar_x, upper, bar, map.top, map.has_mask, map.leaks) + svg_end();
    svg += "<g shape-rendering=\"crispEdges\">\n";
    for (std::size_t t = 0; t < map.queries.size(); ++t)
        for (std::size_t s = 0; s < map.keys.size(); ++s)
            svg += cell_svg(left + static_cast<double>(s) * size, upper + static_cast<double>(t) * size, size,
                            map.queries[t] + " → " + map.keys[s], head, t * map.keys.size() + s, map.top);
    svg += "</g>\n";
    return svg + colour_bar(bar_x, upper, bar, map.top, map.has_mask, map.leaks) + svg_end();
}

}  // namespace weft::viz
