// What the attention maps have in common: weights and blocked cells of several heads, checked and labelled.
#pragma once

#include <string>
#include <vector>

#include "weft/viz/pictures.h"

namespace weft::viz {

struct HeadMap {
    std::vector<double> weights;                                                       // (T, S), row-major
    std::vector<bool> blocked;                                                         // (T, S)
    bool leaks(std::size_t cell) const { return blocked[cell] && weights[cell] > 0; }  // what must not be
};
struct LayerMap {
    std::vector<HeadMap> heads;
};
struct Map {
    std::int64_t T = 0, S = 0;
    std::vector<LayerMap> layers;
    std::vector<std::string> queries, keys;  // visible
    double top = 1;                          // the weight drawn strongest; > 0
    bool has_mask = false;
    bool leaks = false;  // somewhere
};

// Each of `layers` (T, S), (H, T, S) or (1, H, T, S). Refuses what weft/viz/pictures.h says, in the name of
// `operation`.
Map map_of(const char* operation, const std::vector<Tensor>& layers, const MapOptions& options);

// One head of `map` as SVG, its upper left corner at (x, y), its cells `size` wide. Cells of one colour are one
// path, so that 144 heads of 64 tokens stay a few megabytes. Blocked cells are hatched, and red where they
// leak.
std::string panel_svg(const Map& map, const HeadMap& head, double x, double y, double size,
                      const std::string& title);

}  // namespace weft::viz
