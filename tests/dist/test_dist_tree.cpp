// The tree in which gradients of grains are added: whoever computes which grains, the sum is the same
// expression.
#include <map>
#include <set>

#include "catch.h"
#include "dist/transport.h"

using namespace weft;
using namespace weft::dist;

namespace {

// The sum over the node as the tree defines it: "((0+1)+2)".
std::string expression(Range node) {
    if (node.size() == 1) return std::to_string(node.begin);
    std::int64_t left = 1;
    while (2 * left < node.size()) left *= 2;
    return "(" + expression({node.begin, node.begin + left}) + "+" + expression({node.begin + left, node.end}) +
           ")";
}

void collect(Range node, std::set<std::pair<std::int64_t, std::int64_t>>& nodes) {
    nodes.emplace(node.begin, node.end);
    if (node.size() == 1) return;
    collect({node.begin, middle(node)}, nodes);
    collect({middle(node), node.end}, nodes);
}

}  // namespace

TEST_CASE("the tree over 8 grains is the balanced one, and the left part of others is a power of two",
          "[dist]") {
    CHECK(expression({0, 8}) == "(((0+1)+(2+3))+((4+5)+(6+7)))");
    CHECK(expression({0, 6}) == "(((0+1)+(2+3))+(4+5))");
    CHECK(middle({0, 6}) == 4);
    CHECK(middle({4, 6}) == 5);
    CHECK(nodes_within(8, {2, 5}) == std::vector<Range>{{2, 4}, {4, 5}});
    CHECK(nodes_within(8, {0, 8}) == std::vector<Range>{{0, 8}});
}

TEST_CASE("processes share the grains without a gap, and none has over one more than another", "[dist]") {
    for (std::int64_t G = 1; G <= 20; ++G)
        for (std::int64_t P = 1; P <= G; ++P) {
            INFO(G << " grains, " << P << " processes");
            std::int64_t end = 0, least = G, most = 0;
            for (std::int64_t r = 0; r < P; ++r) {
                const Range own = share(G, P, r);
                CHECK(own.begin == end);
                end = own.end;
                least = std::min(least, own.size()), most = std::max(most, own.size());
            }
            CHECK(end == G);
            CHECK(least >= 1);
            CHECK(most - least <= 1);
        }
}

TEST_CASE("every number of processes adds the grains in the same tree", "[dist]") {
    for (std::int64_t G = 1; G <= 20; ++G) {
        std::set<std::pair<std::int64_t, std::int64_t>> tree;
        collect({0, G}, tree);
        for (std::int64_t P = 1; P <= G; ++P) {
            INFO(G << " grains, " << P << " processes");
            std::vector<Range> nodes;
            std::vector<std::string> values;
            for (std::int64_t r = 0; r < P; ++r) {
                const Range own = share(G, P, r);
                for (const Range& node : nodes_within(G, own)) {
                    CHECK(tree.contains({node.begin, node.end}));
                    CHECK(own.begin <= node.begin);
                    CHECK(node.end <= own.end);
                    nodes.push_back(node);
                    values.push_back(expression(node));
                }
            }
            for (std::size_t i = 0; i + 1 < nodes.size();
                 ++i)  // the largest: neighbours of one process are not parts
                if (share(G, P, 0).end != nodes[i].end && nodes[i].end != G)
                    CHECK(nodes[i].end == nodes[i + 1].begin);
            add_in_tree(G, nodes, [&](std::size_t i, std::size_t j) {
                values[i].insert(0, "(").append("+" + values[j] + ")");
            });
            CHECK(values[0] == expression({0, G}));
        }
    }
}

TEST_CASE("two ranges are parts of one node or they are not", "[dist]") {
    for (std::int64_t G = 1; G <= 12; ++G) {
        std::set<std::pair<std::int64_t, std::int64_t>> tree;
        collect({0, G}, tree);
        for (std::int64_t a = 0; a < G; ++a)
            for (std::int64_t m = a + 1; m < G; ++m)
                for (std::int64_t b = m + 1; b <= G; ++b)
                    CHECK(are_parts(G, {a, m}, {m, b}) == (tree.contains({a, b}) && middle({a, b}) == m));
    }
    CHECK_FALSE(are_parts(8, {0, 2}, {3, 4}));  // not neighbours
}

TEST_CASE("a process has one sum where each has the same power of two of grains", "[dist]") {
    for (std::int64_t each = 1; each <= 16; each *= 2)
        for (std::int64_t P = 1; P <= 12; ++P)
            for (std::int64_t r = 0; r < P; ++r) {
                INFO(each << " grains on each of " << P << " processes");
                CHECK(nodes_within(each * P, share(each * P, P, r)).size() == 1);
            }
    CHECK(nodes_within(12, share(12, 4, 0)).size() == 2);  // 4 is a power of two that divides 12
}
