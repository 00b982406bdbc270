#include <algorithm>

#include "viz/text.h"
#include "weft/viz/pictures.h"

namespace weft::viz {

std::string mask_grid(const Mask& mask, std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S,
                      const MaskGridOptions& options) {
    const Tensor blocked = mask.materialize(B, H, T, S);  // (B|1, H|1, T, S)
    const auto [queries, keys] = labels_of("mask_grid", options.queries, options.keys, T, S);
    const std::size_t cell = std::max(display_width(options.visible), display_width(options.blocked));

    std::string text;
    for (std::int64_t b = 0; b < blocked.size(0); ++b)
        for (std::int64_t h = 0; h < blocked.size(1); ++h) {
            const std::string sample = blocked.size(0) > 1 ? "sample " + std::to_string(b + 1) : "",
                              head = blocked.size(1) > 1 ? "head " + std::to_string(h + 1) : "";
            if (!text.empty()) text += "\n";
            if (!sample.empty() || !head.empty())
                text += sample + (sample.empty() || head.empty() ? "" : ", ") + head + "\n";
            std::vector<std::vector<std::string>> rows{{options.corner}};
            for (const std::string& key : keys) rows[0].push_back(pad_left(key, cell));
            for (std::int64_t t = 0; t < T; ++t) {
                rows.push_back({queries[static_cast<std::size_t>(t)]});
                for (std::size_t s = 0; s < keys.size(); ++s) {
                    const bool is_blocked = blocked.at({b, h, t, static_cast<std::int64_t>(s)}) != 0;
                    rows.back().push_back(pad_left(is_blocked ? options.blocked : options.visible,
                                                   display_width(rows[0][s + 1])));
                }
            }
            text += table(rows);
        }
    return text;
}

}  // namespace weft::viz
