// The binary tree in which the gradients of grains are added. It covers the grains [0, G); a node of n > 1
// grains has as its left part the first m, the largest power of two below n, and as its right part the others.
// Which process computed a grain has no influence on it, so a sum in this tree has the same bits wherever it is
// made.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace weft::dist {

// The integers from begin to end − 1.
struct Range {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

// Part r of n things for P processes: [⌊nr/P⌋, ⌊n(r + 1)/P⌋).
Range share(std::int64_t n, std::int64_t P, std::int64_t r);

// Where the right part of a node of at least two grains begins.
std::int64_t middle(Range node);

// Whether left + right is a node of the tree over [0, G), and these are its parts.
bool are_parts(std::int64_t G, Range left, Range right);

// The largest nodes of the tree over [0, G) that lie within `range`, in order.
std::vector<Range> nodes_within(std::int64_t G, Range range);

// Adds in the tree over [0, G), whose parts `nodes` cover it in order: add(i, j) adds the value of the node j
// to that of the node i. The sum is then the value of the first.
void add_in_tree(std::int64_t G, const std::vector<Range>& nodes,
                 const std::function<void(std::size_t, std::size_t)>& add);

}  // namespace weft::dist
