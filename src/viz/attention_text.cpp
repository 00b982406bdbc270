// Attention maps for a terminal.
#include <algorithm>

#include "viz/map.h"
#include "viz/text.h"

namespace weft::viz {
namespace {

constexpr const char *light = "░", *medium = "▒", *dark = "▓", *blocked_cell = "·", *leak = "!";

const char* shade(double share) { return share < 1.0 / 3 ? light : share < 2.0 / 3 ? medium : dark; }

}  // namespace

std::string attention_text(const Tensor& weights, const MapOptions& options) {
    const Map map = map_of("attention_text", {weights}, options);
    const std::vector<HeadMap>& heads = map.layers[0];
    std::size_t left = 0;
    for (const std::string& q : map.queries) left = std::max(left, columns(q));

    bool leaks = false;
    std::string text = options.title.empty() ? "" : visible(options.title) + "\n";
    for (std::size_t h = 0; h < heads.size(); ++h) {
        if (heads.size() > 1) text += (h > 0 ? "\nHead " : "Head ") + std::to_string(h + 1) + ":\n";
        text += std::string(left + 1 + (options.wide ? 1 : 0), ' ');
        for (std::size_t s = 0; s < map.keys.size(); ++s) text += (s > 0 ? " " : "") + map.keys[s];
        text += "\n";
        for (std::size_t t = 0; t < map.queries.size(); ++t) {
            text += padded(map.queries[t], left) + " [";
            for (std::size_t s = 0; s < map.keys.size(); ++s) {
                const std::size_t cell = t * map.keys.size() + s;
                const std::string one = heads[h].leaks(cell)     ? leak
                                        : heads[h].blocked[cell] ? blocked_cell
                                                                 : shade(heads[h].weights[cell] / map.top);
                leaks = leaks || heads[h].leaks(cell);
                if (options.wide && s > 0) text += " ";
                text += options.wide ? repeated(one, std::max<std::size_t>(1, columns(map.keys[s]))) : one;
            }
            text += "]\n";
        }
    }
    return text + light + " < " + number(map.top / 3, 3) + " ≤ " + medium + " < " + number(map.top * 2 / 3, 3) +
           " ≤ " + dark + (map.has_mask ? std::string("   ") + blocked_cell + " blocked" : "") +
           (leaks ? std::string("   ") + leak + " blocked, yet above 0" : "") + "\n";
}

}  // namespace weft::viz
