// What a run leaves to be looked at: names, and the graph.
#include <set>
#include <stdexcept>
#include <thread>

#include "catch.h"
#include "environment.h"
#include "weft/watch/trace.h"
#include "weft/weft.h"

using namespace weft;

namespace {

std::string names_of(const Trace& trace) {
    std::string names;
    for (const TraceEntry& entry : trace.entries()) names += (names.empty() ? "" : ", ") + entry.name;
    return names;
}

}  // namespace

TEST_CASE("a trace holds what the run names, in its order, and nothing from before or after", "[trace]") {
    const Tensor a = ones({2}), b = ones({3});
    traced("before", a);
    std::vector<TraceEntry> entries;
    {
        const Trace trace;
        CHECK(traced("a", a).handle() == a.handle());  // the tensor itself
        traced("b", b);
        (void)traced("nothing", Tensor());
        entries = trace.entries();
    }
    CHECK(Observer::watching() == 0);
    traced("after", a);
    REQUIRE(entries.size() == 2);
    CHECK(entries[0].name == "a");
    CHECK(entries[0].tensor.handle() == a.handle());
    CHECK(entries[1].name == "b");
    CHECK(entries[1].tensor.handle() == b.handle());
}

TEST_CASE("traces nest, end with an exception, and are a thread's own", "[trace]") {
    const Tensor x = ones({2});
    const Trace outer;
    traced("1", x);
    try {
        const Trace inner;
        traced("2", x);
        CHECK(names_of(inner) == "2");
        throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
    }
    traced("3", x);
    std::thread([&] { traced("elsewhere", x); }).join();
    CHECK(names_of(outer) == "1, 3");
}

TEST_CASE("attention names its steps where it is computed by its definition", "[trace]") {
    Rng rng(1);
    nn::MultiHeadAttention attention(8, 2, rng, {.dropout = 0.5});
    const Tensor x = randn({2, 3, 8}, rng), other = randn({2, 5, 8}, rng);
    {
        const Plain composed(Plain::operations);
        const Trace trace;
        (void)attention(x, Mask::causal());
        CHECK(names_of(trace) ==
              "X, QKV, q, k, v, scores, mask, masked scores, weights, weights after dropout, heads, merged, Y");
    }
    attention.eval();
    {
        const Plain composed(Plain::operations);
        const Trace trace;
        (void)attention(x, other, other);
        CHECK(names_of(trace) ==
              "X, X of keys, X of values, Q, K, V, q, k, v, scores, weights, heads, merged, Y");
    }
    const Trace trace;
    (void)attention(x, Mask::causal());
    CHECK(names_of(trace) == "X, QKV, merged, Y");  // the fused kernel has no scores
}

TEST_CASE("a counter has the multiply-adds of every product, forward and backward", "[trace]") {
    const auto count = [](const auto& run) {
        const CountMultiplyAdds counter;
        run();
        return counter.count();
    };
    const Tensor a = ones({5, 2, 3}), b = ones({3, 4}), row = ones({3}), x = ones({7, 3}).requires_grad_(),
                 W = ones({4, 3}).requires_grad_();
    CHECK(count([&] { matmul(a, b); }) == 5 * 2 * 3 * 4);
    CHECK(count([&] { matmul(b.T().unsqueeze(0).expand({5, 4, 3}), a.transpose(1, 2)); }) == 5 * 4 * 3 * 2);
    CHECK(count([&] { matmul(row, row); }) == 3);
    CHECK(count([&] { linear(row, W); }) == 3 * 4);  // one row, which BLAS does not see
    CHECK(count([&] { matmul(ones({2, 0}), ones({0, 4})); }) == 0);
    CHECK(count([&] { sum(a * row); }) == 0);
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        Tensor y;
        CHECK(count([&] { y = sum(linear(x, W)); }) == 7 * 3 * 4);
        CHECK(count([&] { y.backward(); }) == 2 * 7 * 3 * 4);  // dx and dW
    }
}

TEST_CASE("a counter is its thread's, with the work of the team; an inner one adds to the outer at its end",
          "[trace]") {
    const Tensor large = ones({512, 256}), many = ones({64, 32, 32});
    const auto run = [&] { return matmul(large.T(), large), matmul(many, many); };
    constexpr std::int64_t expected = 256 * 256 * 512 + 64 * 32 * 32 * 32;
    for (const int n : {1, 2, 4}) {
        const Threads threads(n);
        const CountMultiplyAdds outer;
        std::thread([&] { run(); }).join();
        CHECK(outer.count() == 0);
        {
            const CountMultiplyAdds inner;
            run();
            CHECK(inner.count() == expected);
            CHECK(outer.count() == 0);
        }
        run();
        CHECK(outer.count() == 2 * expected);
    }
}

TEST_CASE("the list of the graph has every node once, inputs first", "[trace]") {
    const Tensor a = ones({2, 3}).requires_grad_(), b = ones({3}).requires_grad_();
    const Tensor product = a * b, root = sum(product + exp(product) + a);
    const auto nodes = graph_nodes(root);
    std::string operations;
    std::set<std::uint64_t> numbers;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        operations += nodes[i].operation + " " + nodes[i].shape.str() + (i + 1 < nodes.size() ? ", " : "");
        numbers.insert(nodes[i].number);
        for (const std::size_t input : nodes[i].inputs) CHECK(input < i);
    }
    CHECK(operations == "leaf (2, 3), leaf (3,), multiply (2, 3), exp (2, 3), add (2, 3), add (2, 3), sum ()");
    CHECK(numbers.size() == nodes.size());
    CHECK(nodes[2].inputs == std::vector<std::size_t>{0, 1});
    CHECK(nodes[4].inputs == std::vector<std::size_t>{2, 3});
    CHECK(nodes[5].inputs == std::vector<std::size_t>{4, 0});
    CHECK(nodes[0].number == graph_number(a));
    CHECK(nodes.back().number == graph_number(root));

    sum(root).backward();  // what was released is still a graph
    CHECK(graph_nodes(root).size() == nodes.size());
}

TEST_CASE("inputs outside the graph are left out; a tensor outside it has none", "[trace]") {
    const Tensor x = ones({2}), w = ones({2}, float64).requires_grad_();
    CHECK(graph_nodes(x).empty());
    CHECK(graph_number(x) == 0);
    CHECK(graph_number(w) != 0);
    const auto nodes = graph_nodes(ones({2}, float64) * w);
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[1].inputs == std::vector<std::size_t>{0});
    CHECK(nodes[1].dtype == float64);
    const Tensor square = w * w;
    CHECK(graph_nodes(square).back().inputs == std::vector<std::size_t>{0, 0});
    CHECK_THROWS_AS(graph_nodes(Tensor()), GraphError);
}

TEST_CASE("a leaf keeps its first owner while that exists, also through set_data", "[trace]") {
    Tensor x = ones({2}).requires_grad_();
    const auto owner = [&] { return graph_nodes(sum(x))[0].owner.lock(); };
    CHECK(owner() == nullptr);
    auto first = std::make_shared<LeafOwner>(), second = std::make_shared<LeafOwner>();
    set_owner(x, first);
    set_owner(x, second);
    CHECK(owner() == first);
    x.set_data(ones({3}));
    CHECK(owner() == first);
    x.requires_grad_(false).requires_grad_();
    CHECK(owner() == first);
    first.reset();
    CHECK(owner() == nullptr);
    set_owner(x, second);
    CHECK(owner() == second);
    for (const Tensor& no_leaf : {exp(x), ones({3})})
        CHECK_THROWS_WITH(set_owner(no_leaf, second),
                          "set_owner: a tensor of shape (3,) is no leaf in the graph; only what "
                          "requires_grad_() was called on has an owner");
}

TEST_CASE("a BackwardWatch is told what backward and grad start from, and not what they start themselves",
          "[trace]") {
    const Tensor x = ones({2}).requires_grad_(), y = sum(x * x), z = sum(x);
    std::vector<Tensor> roots;
    const auto note = [&](const Tensor& root) { roots.push_back(root); };
    {
        const BackwardWatch outer([](const Tensor&) { FAIL("the innermost is called"); });
        const BackwardWatch watch([&](const Tensor& root) {
            note(root);
            (void)grad({sum(x)}, {x});
        });
        y.backward();
        CHECK(roots.size() == 1);
        (void)grad({z, z}, {x}, {ones({}), ones({})}, {.retain_graph = true});
        const auto square = [](const std::vector<Tensor>& in) { return in[0] * in[0]; };
        sum(checkpoint(square, {x})).backward();
    }
    z.backward();
    REQUIRE(roots.size() == 4);
    CHECK(roots[0].handle() == y.handle());
    CHECK(roots[1].handle() == z.handle());
    CHECK(roots[2].handle() == z.handle());
    const BackwardWatch refusing([](const Tensor&) { throw ValueError("no"); });
    CHECK_THROWS_AS(sum(x * x).backward(), ValueError);
}

TEST_CASE("a graph half a million operations deep is listed without recursion", "[trace]") {
    Tensor x = ones({1}).requires_grad_();
    for (int i = 0; i < 500000; ++i) x = -x;
    CHECK(graph_nodes(x).size() == 500001);
}

TEST_CASE("a graph with 2¹⁰⁰ paths is listed node by node, not path by path", "[trace]") {
    Tensor x = ones({1}).requires_grad_();
    for (int i = 0; i < 100; ++i) x = x + x;
    CHECK(graph_nodes(x).size() == 101);
}
