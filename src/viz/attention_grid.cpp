// All layers and heads as one SVG: a row of panels for each layer.
#include <algorithm>
#include <cmath>
#include <map>

#include "viz/colour.h"
#include "viz/map.h"
#include "viz/svg.h"
#include "viz/text.h"

namespace weft::viz {
namespace {

constexpr double margin = 16, gap = 10;
constexpr int levels = 255;        // colours are as fine as a screen's
constexpr double labels_from = 9;  // tokens are written beside cells of that size

// The cells that are not blocked or leak, in units of cells, neighbours of one colour in a row as one piece.
std::string cells_svg(const HeadMap& head, std::int64_t T, std::int64_t S, double top) {
    std::map<int, std::string> paths;  // by level; −1: blocked, and yet above 0
    constexpr int leak = -1, hidden = -2;
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t s = 0; s < S;) {
            const auto level = [&](std::int64_t at) {
                const auto cell = static_cast<std::size_t>(t * S + at);
                if (head.blocked[cell]) return head.leaks(cell) ? leak : hidden;
                return static_cast<int>(std::lround(std::min(1.0, head.weights[cell] / top) * levels));
            };
            const int here = level(s);
            const std::int64_t from = s;
            while (s < S && level(s) == here) ++s;
            if (here == hidden) continue;
            const std::string n = std::to_string(s - from);
            paths[here] += "M" + std::to_string(from) + " " + std::to_string(t) + "h" + n + "v1h-" + n + "z";
        }
    std::string svg;
    for (const auto& [level, path] : paths)
        svg += "<path fill=\"" + (level == leak ? "#d00" : viridis(static_cast<double>(level) / levels).hex()) +
               "\" d=\"" + path + "\"/>\n";
    return svg;
}

}  // namespace

std::string panel_svg(const Map& map, const HeadMap& head, double x, double y, double size,
                      const std::string& title) {
    const std::string box = "<rect x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" width=\"" +
                            decimal(static_cast<double>(map.S) * size) + "\" height=\"" +
                            decimal(static_cast<double>(map.T) * size) + "\"";
    return "<g><title>" + xml(title) + "</title>\n" + box +
           " fill=\"url(#blocked)\"/>\n<g transform=\"translate(" + decimal(x) + " " + decimal(y) + ") scale(" +
           number(size, 9) + ")\" shape-rendering=\"crispEdges\">\n" + cells_svg(head, map.T, map.S, map.top) +
           "</g>\n" + box + " fill=\"none\" stroke=\"#999\" stroke-width=\"0.5\"/></g>\n";
}

std::string attention_grid_svg(const std::vector<Tensor>& layers, const MapOptions& options) {
    const Map map = map_of("attention_grid_svg", layers, options);
    std::size_t most = 1;
    for (const LayerMap& layer : map.layers) most = std::max(most, layer.heads.size());
    const auto T = static_cast<double>(map.T), S = static_cast<double>(map.S);
    const double side = std::clamp(std::floor(1100 / static_cast<double>(most)), 64.0, 260.0);
    const double size = std::min(44.0, side / std::max({T, S, 1.0}));
    const double panel_width = S * size, panel_height = T * size;
    const bool labelled = size >= labels_from;
    const LabelLayout rows = labelled ? label_layout(map.queries, size, true) : LabelLayout{},
                      tops = labelled ? label_layout(map.keys, size, false) : LabelLayout{};

    // A column's heading may be wider than its panels.
    const double column = std::max(panel_width, text_width("head " + std::to_string(most), 12)) + gap;
    const double row =
        std::max(panel_height, text_width("layer " + std::to_string(map.layers.size()), 12)) + gap;
    const double title_height = options.title.empty() ? 0 : 28;
    const double left = margin + 22 + (labelled ? rows.extent + 6 : 0),
                 upper = margin + title_height + 20 + (labelled ? tops.extent + 6 : 0);
    const double bar_x = left + column * static_cast<double>(most) + 14,
                 all_rows = row * static_cast<double>(map.layers.size()) - gap;
    const double bar = std::max(60.0, std::min(all_rows, 240.0));
    const double width = std::max(bar_x + colour_bar_width, 2 * margin + text_width(options.title, 15)),
                 height = upper + std::max(all_rows, bar + legend_height(map.has_mask, map.leaks)) + margin;

    const std::string title = visible(options.title);
    std::string svg = svg_start(width, height, title.empty() ? "attention weights of all heads" : title);
    if (!title.empty()) svg += svg_text(margin, margin + 8, title, {.size = 15, .bold = true});
    for (std::size_t h = 0; h < most; ++h) {
        const double x = left + column * static_cast<double>(h);
        svg += svg_text(x + panel_width / 2, margin + title_height + 6, "head " + std::to_string(h + 1),
                        {.size = 12, .anchor = "middle"});
        if (labelled) svg += labels_svg(map.keys, tops, x, upper - 6, size, false);
    }
    for (std::size_t l = 0; l < map.layers.size(); ++l) {
        const double y = upper + row * static_cast<double>(l);
        svg += svg_text(margin + 6, y + panel_height / 2, "layer " + std::to_string(l + 1),
                        {.size = 12, .anchor = "middle", .rotate = -90});
        if (labelled) svg += labels_svg(map.queries, rows, left - 6, y, size, true);
        for (std::size_t h = 0; h < map.layers[l].heads.size(); ++h) {
            const double x = left + column * static_cast<double>(h);
            svg += panel_svg(map, map.layers[l].heads[h], x, y, size,
                             "layer " + std::to_string(l + 1) + ", head " + std::to_string(h + 1));
        }
    }
    return svg + colour_bar(bar_x, upper, bar, map.top, map.has_mask, map.leaks) + svg_end();
}

}  // namespace weft::viz
