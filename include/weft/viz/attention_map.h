// Internal: What attention maps draw: the weights and blocked cells of several heads, checked and labelled.
#pragma once

#include <string>
#include <vector>

#include "weft/viz/pictures.h"
#include "weft/viz/text.h"

namespace weft::viz {

// Visible labels of T queries and S keys.
struct Labels {
    std::vector<std::string> queries, keys;
};
struct HeadMap {
    std::vector<double> weights;  // (T, S), row-major
    std::vector<bool> blocked;    // (T, S)
    bool leaks(std::size_t cell) const { return blocked[cell] && weights[cell] > 0; }
};
struct AttentionMap {
    std::int64_t T = 0, S = 0;
    std::vector<std::vector<HeadMap>> layers;
    Labels labels;
    double top = 1;  // the weight drawn strongest; > 0
    bool has_mask = false;
    bool leaks = false;  // in any head
};

// Each layer is (T, S), (H, T, S) or (1, H, T, S). Throws what pictures.h lists, in the name of `operation`.
AttentionMap make_attention_map(const char* operation, const std::vector<Tensor>& layers,
                                const MapOptions& options);

}  // namespace weft::viz
