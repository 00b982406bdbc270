// Attention maps: recorded, checked, and written as text; and masks as text.
#include "weft/viz/attention_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/base/text.h"
#include "weft/core/modes.h"
#include "weft/watch/trace.h"

namespace weft::viz {
namespace {

constexpr const char *blocked_cell = "·", *leak = "!";
constexpr std::array<const char*, 8> heights = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

const char* bar(double share) { return heights[static_cast<std::size_t>(std::clamp(8 * share, 0.0, 7.0))]; }

// (T, S), (H, T, S) or (1, H, T, S) as float64 (H, T, S).
Tensor as_heads(const char* operation, const Tensor& weights) {
    if (!takes_gradient(weights.dtype()))
        throw DTypeError(operation, ": weights are float32 or float64, not ", name(weights.dtype()),
                         "; convert them with to()");
    const int rank = weights.rank();
    if (rank < 2 || rank > 4 || (rank == 4 && weights.size(0) != 1))
        throw ShapeError(operation, ": weights of shape ", weights.shape(),
                         "; expected (T, S), (H, T, S) or (1, H, T, S): select one sample with weights[b]");
    const Tensor w = weights.detach().to(float64);
    return rank == 2 ? w.unsqueeze(0) : rank == 4 ? w[0] : w;
}

// As weft/viz/pictures.h says of MapOptions.
Labels labels_of(const char* operation, const std::vector<std::string>& queries,
                 const std::vector<std::string>& keys, std::int64_t T, std::int64_t S) {
    const auto make = [&](const char* what, const std::vector<std::string>& given, std::int64_t count) {
        if (!given.empty() && static_cast<std::int64_t>(given.size()) != count)
            throw ShapeError(operation, ": ", given.size(), " labels for ", count, " ", what,
                             "; give one for each, or none");
        std::vector<std::string> labels;
        for (std::int64_t i = 0; i < count; ++i)
            labels.push_back(given.empty() ? std::to_string(i + 1)
                                           : visible(given[static_cast<std::size_t>(i)]));
        return labels;
    };
    return {make("queries", queries, T), make("keys", keys.empty() && T == S ? queries : keys, S)};
}

std::vector<double> checked_values(const char* operation, const Tensor& head) {
    std::vector<double> values = head.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]) || values[i] < 0)
            throw ValueError(operation, ": the weight at (query, key) = ",
                             format_index(static_cast<std::int64_t>(i), head.shape()), " is ",
                             format_number(values[i]),
                             "; weights are finite and at least 0 (apply softmax to scores first)");
    return values;
}

}  // namespace

std::vector<Tensor> attention_weights(const Run& run, const Tensor& input) {
    const Plain composed(Plain::operations);
    const NoGrad off;
    const Trace trace;
    (void)run(input);
    std::vector<Tensor> found;
    for (const auto& [name, tensor] : trace.entries())
        if (name == "weights") found.push_back(tensor);
    return found;
}

AttentionMap make_attention_map(const char* operation, const std::vector<Tensor>& layers,
                                const MapOptions& options) {
    if (layers.empty()) throw ValueError(operation, ": no layers; give the weights of at least one");
    if (!(options.top >= 0) || !std::isfinite(options.top))
        throw ValueError(operation, ": top = ", format_number(options.top),
                         "; give the weight to draw strongest, finite and above 0, or 0 for the largest");
    AttentionMap map;
    map.has_mask = !options.mask.blocks_nothing();
    double largest = 0;
    for (const Tensor& layer : layers) {
        const Tensor weights = as_heads(operation, layer);  // (H, T, S)
        const std::int64_t H = weights.size(0), T = weights.size(1), S = weights.size(2);
        if (map.layers.empty()) map.T = T, map.S = S;
        if (T != map.T || S != map.S)
            throw ShapeError(operation, ": layers of ", map.T, " × ", map.S, " and of ", T, " × ", S,
                             " weights; draw them in separate pictures");
        const Tensor blocked = options.mask.materialize(1, H, T, S).expand({1, H, T, S});
        std::vector<HeadMap>& heads = map.layers.emplace_back();
        for (std::int64_t h = 0; h < H; ++h) {
            const HeadMap& head = heads.emplace_back(
                HeadMap{checked_values(operation, weights[h]), blocked[0][h].to_vector<bool>()});
            for (std::size_t i = 0; i < head.weights.size(); ++i) {
                largest = std::max(largest, head.weights[i]);
                map.leaks = map.leaks || head.leaks(i);
            }
        }
    }
    map.top = options.top > 0 ? options.top : largest > 0 ? largest : 1;
    map.labels = labels_of(operation, options.queries, options.keys, map.T, map.S);
    return map;
}

std::string attention_text(const Tensor& weights, const MapOptions& options) {
    const AttentionMap map = make_attention_map("attention_text", {weights}, options);
    const std::vector<HeadMap>& heads = map.layers[0];
    std::size_t left = 0;
    for (const std::string& q : map.labels.queries) left = std::max(left, display_width(q));
    std::string text = options.title.empty() ? "" : visible(options.title) + "\n";
    for (std::size_t h = 0; h < heads.size(); ++h) {
        if (heads.size() > 1) text += (h > 0 ? "\nHead " : "Head ") + std::to_string(h + 1) + ":\n";
        text += std::string(left + 1 + (options.wide ? 1 : 0), ' ');
        for (std::size_t s = 0; s < map.labels.keys.size(); ++s)
            text += (s > 0 ? " " : "") + map.labels.keys[s];
        text += "\n";
        for (std::size_t t = 0; t < map.labels.queries.size(); ++t) {
            const auto row = heads[h].weights.begin() + static_cast<std::ptrdiff_t>(t) * map.S;
            const double largest = map.S > 0 ? *std::max_element(row, row + map.S) : 0;
            const double top = options.top > 0 ? options.top : largest > 0 ? largest : 1;
            text += pad_right(map.labels.queries[t], left) + " [";
            for (std::size_t s = 0; s < map.labels.keys.size(); ++s) {
                const std::size_t cell = t * map.labels.keys.size() + s;
                const std::string mark = heads[h].leaks(cell)     ? leak
                                         : heads[h].blocked[cell] ? blocked_cell
                                                                  : bar(heads[h].weights[cell] / top);
                if (options.wide && s > 0) text += " ";
                text += options.wide
                            ? repeated(mark, std::max<std::size_t>(1, display_width(map.labels.keys[s])))
                            : mark;
            }
            text += "]\n";
        }
    }
    for (const char* height : heights) text += height;
    return text + " eighths of " +
           (options.top > 0 ? format_number(options.top, 3) : "the row's largest weight") +
           (map.has_mask ? std::string("   ") + blocked_cell + " blocked" : "") +
           (map.leaks ? std::string("   ") + leak + " blocked, yet above 0" : "") + "\n";
}

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
            text += format_table(rows);
        }
    return text;
}

std::string decimal(double value) {
    std::string text = to_chars(value, std::chars_format::fixed, 2);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

std::string pad_left(const std::string& text, std::size_t to) {
    return std::string(to - std::min(to, display_width(text)), ' ') + text;
}

std::string truncated(const std::string& text, std::size_t to) {
    if (display_width(text) <= to) return text;
    std::size_t end = 0;
    for (std::size_t next = 0, taken = 0; next < text.size(); end = next) {
        displayed(text, next);
        taken += display_width(std::string_view(text).substr(end, next - end));
        if (taken + 1 > to) break;
    }
    return text.substr(0, end) + "…";
}

std::string shown(std::string_view text) {
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
        const char* const mark = text[at] == '\n' ? "↵" : text[at] == '\t' ? "⇥" : nullptr;
        shown += mark != nullptr ? (++at, mark) : displayed(text, at);
    }
    return shown;
}

std::string visible(std::string_view token) {
    const std::size_t start = std::min(token.find_first_not_of(' '), token.size());
    const std::size_t end = std::max(token.find_last_not_of(' ') + 1, start);
    return repeated("␣", start) + shown(token.substr(start, end - start)) + repeated("␣", token.size() - end);
}

std::string xml(std::string_view text) {
    constexpr std::string_view special = "&<>\"'";
    constexpr std::array<const char*, 5> entities = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    std::string escaped;
    for (const char c : text)
        if (const std::size_t found = special.find(c); found < special.size())
            escaped += entities[found];
        else
            escaped += c;
    return escaped;
}

}  // namespace weft::viz
