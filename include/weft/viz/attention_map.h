// Internal: What attention maps draw: the weights and blocked cells of several heads, checked and labelled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/viz/pictures.h"

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

// Internal: Text for terminals and SVG, whatever the locale.

std::string decimal(double value);  // "12.5": at most two decimals, to keep SVG short
std::string repeated(std::string_view text, std::size_t times);
std::string pad_left(const std::string& text, std::size_t to);   // pads with spaces in front, to `to` columns
std::string truncated(const std::string& text, std::size_t to);  // at most `to` columns, ending in … if cut

// Shows newlines as ↵, tabs as ⇥, and other control characters and bytes that are not UTF-8 as escapes.
std::string shown(std::string_view text);
// The same, with spaces at either end as ␣.
std::string visible(std::string_view token);

std::string xml(std::string_view text);  // escapes & < > " '

}  // namespace weft::viz
