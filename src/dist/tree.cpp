#include "dist/tree.h"

#include <bit>

namespace weft::dist {

Range share(std::int64_t n, std::int64_t P, std::int64_t r) { return {n * r / P, n * (r + 1) / P}; }

std::int64_t middle(Range node) {
    return node.begin + static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(node.size() - 1)));
}

bool are_parts(std::int64_t G, Range left, Range right) {
    const Range both{left.begin, right.end};
    Range node{0, G};
    while (node != both) {
        if (node.size() == 1) return false;
        const std::int64_t m = middle(node);
        (both.begin < m ? node.end : node.begin) = m;
    }
    return middle(node) == left.end && left.end == right.begin;
}

std::vector<Range> nodes_within(std::int64_t G, Range range) {
    std::vector<Range> nodes, waiting = {{0, G}};
    while (!waiting.empty()) {
        const Range node = waiting.back();
        waiting.pop_back();
        if (node.end <= range.begin || range.end <= node.begin) continue;
        if (range.begin <= node.begin && node.end <= range.end) {
            nodes.push_back(node);
            continue;
        }
        const std::int64_t m = middle(node);
        waiting.push_back({m, node.end});
        waiting.push_back({node.begin, m});
    }
    return nodes;
}

void add_in_tree(std::int64_t G, const std::vector<Range>& nodes,
                 const std::function<void(std::size_t, std::size_t)>& add) {
    std::vector<std::pair<Range, std::size_t>> done;  // no two neighbours are the parts of one node
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        done.emplace_back(nodes[i], i);
        while (done.size() > 1 && are_parts(G, done[done.size() - 2].first, done.back().first)) {
            const auto [right, at] = done.back();
            done.pop_back();
            add(done.back().second, at);
            done.back().first.end = right.end;
        }
    }
}

}  // namespace weft::dist
