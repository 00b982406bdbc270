// The gradient ledger, and its table.
#include <stdexcept>
#include <thread>

#include "catch.h"
#include "weft/viz/pictures.h"
#include "weft/weft.h"

using namespace weft;

namespace {

Tensor leaf(const Tensor& values) { return values.to(float64).requires_grad_(); }

const LedgerEntry& entry_of(const GradientLedger& ledger, const Tensor& x) {
    for (const LedgerEntry& entry : ledger.entries())
        if (entry.number == graph_number(x)) return entry;
    FAIL("no entry of a tensor of shape " << x.shape().str());
    throw 0;
}

Tensor sum_of(const LedgerEntry& entry) {
    Tensor sum = zeros_like(entry.gradient);
    for (const LedgerTerm& term : entry.terms) sum.add_(term.gradient);
    return sum;
}

bool close(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && max(abs(a - b)).item() < 1e-12;
}

}  // namespace

TEST_CASE("the ledger of (a + b) + a: every edge, in the order of the visits", "[ledger]") {
    const Tensor a = leaf(tensor(2.0)), b = leaf(tensor(3.0));
    const GradientLedger ledger;
    const Tensor s = a + b, y = s + a;
    CHECK(ledger.entries().empty());
    y.backward({}, true);
    y.backward(tensor(5, float64));  // the seed is given, or is 1: an entry of either is the same
    const auto& all = ledger.entries();
    REQUIRE(all.size() == 8);
    CHECK(all[4].terms[0].from == 0);
    CHECK(all[4].terms[0].input == 0);
    CHECK(all[4].terms[0].gradient.item() == 5);
    const std::vector<LedgerEntry> entries(all.begin(), all.begin() + 4);
    CHECK(entries[0].number == graph_number(y));
    CHECK(entries[0].operation == "add");
    REQUIRE(entries[0].terms.size() == 1);
    CHECK(entries[0].terms[0].from == 0);
    CHECK(entries[0].terms[0].input == 0);
    CHECK(entries[0].terms[0].operation == "seed");
    CHECK(entries[1].number == graph_number(s));
    CHECK(entries[1].terms[0].from == graph_number(y));
    CHECK(entries[1].terms[0].input == 0);
    const LedgerEntry& of_a = entry_of(ledger, a);
    CHECK(of_a.operation == "leaf");
    REQUIRE(of_a.terms.size() == 2);
    CHECK(of_a.terms[0].from == graph_number(y));
    CHECK(of_a.terms[0].input == 1);
    CHECK(of_a.terms[1].from == graph_number(s));
    CHECK(of_a.terms[1].input == 0);
    CHECK(of_a.gradient.item() == 2);
    CHECK(of_a.terms[0].gradient.item() == 1);  // not changed by the sum
    for (const LedgerEntry& entry : entries) CHECK(entry.backward == 1);
}

TEST_CASE("the terms of every node sum to its gradient, and the leaves' to grad()", "[ledger]") {
    Rng rng(1);
    nn::TransformerBlock block(8, 2, rng);
    block.to(float64);
    const Tensor x = randn({2, 3, 8}, rng, float64).requires_grad_();
    for (const bool composed : {false, true}) {
        const Plain definitions(Plain::operations, composed);
        block.zero_grad();
        Tensor(x).zero_grad();
        const Tensor loss = mean(pow(block(x), 2));
        const GradientLedger ledger;
        loss.backward();
        CHECK(ledger.entries().size() == graph_nodes(loss).size());
        for (const LedgerEntry& entry : ledger.entries()) {
            INFO(entry.operation);
            REQUIRE_FALSE(entry.terms.empty());
            CHECK(close(sum_of(entry), entry.gradient));
        }
        for (const auto& [name, parameter] : block.named_parameters())
            CHECK(close(entry_of(ledger, parameter).gradient, parameter.grad()));
        CHECK(close(entry_of(ledger, x).gradient, x.grad()));
    }
}

TEST_CASE("with a ledger, backward gives the same bits as without", "[ledger]") {
    Rng rng(2);
    const nn::CausalMultiHeadAttention attention(8, 2, rng);
    const Tensor x = randn({2, 4, 8}, rng);
    const auto gradients = [&] {
        for (const auto& [name, parameter] : attention.named_parameters()) Tensor(parameter).zero_grad();
        const Tensor y = attention(x);
        mean(y * y).backward();
        std::vector<std::vector<float>> values;
        for (const auto& [name, parameter] : attention.named_parameters())
            values.push_back(parameter.grad().to_vector<float>());
        return values;
    };
    const auto without = gradients();
    const GradientLedger ledger;
    CHECK(gradients() == without);
    CHECK_FALSE(ledger.entries().empty());
}

TEST_CASE("the ledger works under create_graph, and holds copies outside the graph", "[ledger]") {
    const Tensor x = leaf(tensor({2.0, 3}));
    const GradientLedger ledger;
    const Tensor g = grad({sum(x * x * x)}, {x}, {}, {.create_graph = true})[0];
    const Tensor gg = grad({sum(g)}, {x})[0];
    CHECK(gg.to_vector<double>() == std::vector<double>{12, 18});
    REQUIRE_FALSE(ledger.entries().empty());
    CHECK(ledger.entries().front().backward == 1);
    CHECK(ledger.entries().back().backward == 2);
    std::vector<Tensor> of_x;
    for (const LedgerEntry& entry : ledger.entries()) {
        CHECK(close(sum_of(entry), entry.gradient));
        CHECK_FALSE(entry.gradient.requires_grad());
        for (const LedgerTerm& term : entry.terms) CHECK_FALSE(term.gradient.requires_grad());
        if (entry.number == graph_number(x)) of_x.push_back(entry.gradient);
    }
    REQUIRE(of_x.size() == 2);
    CHECK(of_x[0].to_vector<double>() == std::vector<double>{12, 27});
    CHECK(of_x[1].to_vector<double>() == std::vector<double>{12, 18});
}

TEST_CASE("a backward inside a rule is part of that rule", "[ledger]") {
    Rng rng(3);
    const Tensor x = randn({2, 4}, rng, float64).requires_grad_(),
                 w = randn({3, 4}, rng, float64).requires_grad_();
    const GradientLedger ledger;
    (void)grad({sum(linear(x, w))}, {x, w}, {},
               {.create_graph = true});   // its rule differentiates the definition
    CHECK(ledger.entries().size() == 4);  // sum, linear, x, w
    for (const LedgerEntry& entry : ledger.entries()) CHECK(entry.backward == 1);
}

TEST_CASE("ledgers nest, end with an exception, and are a thread's own", "[ledger]") {
    const Tensor x = leaf(tensor(3.0));
    const auto run = [&] { (x * 2.0).backward(); };
    run();  // no ledger lives: nothing to see
    const GradientLedger outer;
    run();
    CHECK(outer.entries().size() == 2);
    try {
        const GradientLedger inner;
        run();
        CHECK(inner.entries().size() == 2);
        throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
    }
    CHECK(outer.entries().size() == 2);
    std::thread([&] { (leaf(tensor(1.0)) * 2.0).backward(); }).join();
    CHECK(outer.entries().size() == 2);
    run();
    CHECK(outer.entries().size() == 4);
    CHECK(outer.entries().back().backward == 2);
}

TEST_CASE("a backward that throws leaves no entries, and the next is written down", "[ledger]") {
    const Tensor x = leaf(tensor(3.0)), unused = leaf(tensor(1.0));
    const GradientLedger ledger;
    const Tensor h = x * x;
    const Tensor broken = record("broken", h.detach().clone(), {h}, {},
                                 [](const Saved&, const Tensor&) -> Grads { throw std::runtime_error("out"); });
    CHECK_THROWS_AS((broken + h).backward(), std::runtime_error);
    CHECK(ledger.entries().empty());
    CHECK_THROWS_AS(grad({x * 2.0}, {unused}), GraphError);
    CHECK(ledger.entries().empty());
    (x * 2.0).backward();
    CHECK(ledger.entries().size() == 2);
    CHECK(entry_of(ledger, x).gradient.item() == 2);
}

TEST_CASE("the gradient is the one that a hook put in its place", "[ledger]") {
    Tensor x = leaf(tensor({1.0, 2}));
    x.register_hook([](const Tensor& g) { return g * 10.0; });
    const GradientLedger ledger;
    sum(x * 3.0).backward();
    const LedgerEntry& entry = entry_of(ledger, x);
    CHECK(entry.hooked);
    CHECK(sum_of(entry).to_vector<double>() == std::vector<double>{3, 3});
    CHECK(entry.gradient.to_vector<double>() == std::vector<double>{30, 30});
    CHECK(viz::ledger_table(ledger, {{"x", x}}) ==
          "node      gets from          gradient\n"
          "sum       seed               1\n"
          "multiply  sum, input 0       [1 1]\n"
          "x         multiply, input 0  [3 3]\n"
          "          hook               [30 30]\n");
}

TEST_CASE("later changes of a gradient are not seen in the ledger", "[ledger]") {
    const Tensor x = leaf(tensor(3.0));
    const GradientLedger ledger;
    (x * 2.0).backward();
    x.grad().fill_(0);
    CHECK(entry_of(ledger, x).gradient.item() == 2);
}

TEST_CASE("the table names tensors, numbers what is alike, and adds up", "[ledger][viz]") {
    const Tensor a = leaf(tensor({1.0, 2})), b = leaf(tensor({3.0, 4}));
    const GradientLedger ledger;
    CHECK(viz::ledger_table(ledger).empty());
    const Tensor s = a + b, y = sum(s * a);
    y.backward();
    CHECK(viz::ledger_table(ledger, {{"a", a}, {"b", b}, {"s", s}, {"outside", tensor(1.0)}}) ==
          "node      gets from          gradient\n"
          "sum       seed               1\n"
          "multiply  sum, input 0       [1 1]\n"
          "s = add   multiply, input 0  [1 2]\n"
          "b         s, input 1         [1 2]\n"
          "a         multiply, input 1  [4 6]\n"
          "          s, input 0         [1 2]\n"
          "          sum                [5 8]\n");
    CHECK(viz::ledger_table(ledger) ==
          "node      gets from          gradient\n"
          "sum       seed               1\n"
          "multiply  sum, input 0       [1 1]\n"
          "add       multiply, input 0  [1 2]\n"
          "leaf 2    add, input 1       [1 2]\n"
          "leaf 1    multiply, input 1  [4 6]\n"
          "          add, input 0       [1 2]\n"
          "          sum                [5 8]\n");
}

TEST_CASE("the table heads a second backward, and tells large gradients by their norm", "[ledger][viz]") {
    const Tensor x = leaf(ones({5, 5}));
    const GradientLedger ledger;
    const Tensor y = sum(x);
    y.backward({}, true);
    y.backward();
    CHECK(viz::ledger_table(ledger, {{"x", x}, {"y", y}}) ==
          "node          gets from   gradient\n"
          "y = sum       seed        1\n"
          "x             y, input 0  (5, 5), norm 5\n"
          "\n"
          "(backward 2)\n"
          "y = sum       seed        1\n"
          "x             y, input 0  (5, 5), norm 5\n");
}
