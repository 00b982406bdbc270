#include <algorithm>

#include "viz/text.h"
#include "weft/viz/pictures.h"

namespace weft::viz {

std::string mask_grid(const Mask& mask, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                      const MaskGridOptions& options) {
    const Tensor blocked = mask.materialize(B, H, T, S);  // (B|1, H|1, T, S)
    const bool same = options.keys.empty() && T == S;
    const std::vector<std::string> queries = labels("mask_grid", "queries", options.queries, T),
                                   keys = labels("mask_grid", "keys", same ? options.queries : options.keys, S);
    std::size_t left = columns(options.corner);
    for (const std::string& q : queries) left = std::max(left, columns(q));
    const std::size_t cell = std::max(columns(options.visible), columns(options.blocked));

    std::string text;
    for (std::int64_t b = 0; b < blocked.size(0); ++b)
        for (std::int64_t h = 0; h < blocked.size(1); ++h) {
            const std::string sample = blocked.size(0) > 1 ? "sample " + std::to_string(b + 1) : "",
                              head = blocked.size(1) > 1 ? "head " + std::to_string(h + 1) : "";
            if (!text.empty()) text += "\n";
            if (!sample.empty() || !head.empty())
                text += sample + (sample.empty() || head.empty() ? "" : ", ") + head + "\n";
            text += padded(options.corner, left);
            for (const std::string& k : keys) text += "  " + padded_left(k, cell);
            text += "\n";
            for (std::int64_t t = 0; t < T; ++t) {
                text += padded(queries[static_cast<std::size_t>(t)], left);
                for (std::int64_t s = 0; s < S; ++s)
                    text +=
                        "  " + padded_left(blocked.at({b, h, t, s}) != 0 ? options.blocked : options.visible,
                                           std::max(cell, columns(keys[static_cast<std::size_t>(s)])));
                text += "\n";
            }
        }
    return text;
}

}  // namespace weft::viz
