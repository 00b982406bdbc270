// weft::grad, and graphs of graphs.
#include <algorithm>
#include <cmath>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/core.h"
#include "weft/watch/trace.h"

using namespace weft;

namespace {
Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }
const GradOptions again{.create_graph = true, .retain_graph = true, .allow_unused = false};
}  // namespace

TEST_CASE("grad leaves the leaves' own gradients as they are", "[autograd]") {
    Tensor x = leaf({3}), w = leaf({4});
    x.set_grad(tensor({100}, float64));
    const auto g = grad({x * w}, {x});
    CHECK(g.size() == 1);
    CHECK(g[0].item() == 4);
    CHECK(x.grad().item() == 100);
    CHECK_FALSE(w.grad().defined());
}

TEST_CASE("grad takes several outputs and seeds, inputs twice, and tensors inside the graph", "[autograd]") {
    const Tensor x = leaf({2, 3});
    const Tensor h = x * x, y = h * 5, z = exp(x);
    const Tensor a = tensor({1, 10}, float64), b = tensor({100, 1000}, float64);
    const auto g = grad({y, z}, {h, x, x}, {a, b});
    CHECK(distance(g[0], a * 5) < 1e-15);
    CHECK(distance(g[1], a * 10 * x.detach() + b * exp(x.detach())) < 1e-15);
    CHECK(same_bits(g[1], g[2]));
    const Tensor w = x * 2;
    CHECK(grad({w}, {w}, {a})[0].to_vector<double>() == std::vector<double>{1, 10});
}

TEST_CASE("what grad returns or hands over is never the gradient that was passed to it", "[autograd]") {
    const Tensor x = leaf({2, 3}), a = leaf({1, 10});
    std::vector<Tensor> found;
    for (const bool create_graph : {false, true}) {
        GradOptions options{.create_graph = create_graph};
        found.push_back(grad({x + 1.0}, {x}, {a}, options)[0]);
        found.push_back(grad({x.view({2, 1})}, {x}, {a.view({2, 1})}, options)[0]);
        options.ready = [&](std::size_t, const Tensor& g) { found.push_back(g); };
        CHECK(grad({x + 1.0}, {x}, {a}, options).empty());
        const Tensor y = x + 1.0;  // no leaf
        CHECK(grad({y}, {y}, {a}, options).empty());
    }
    CHECK(found.size() == 8);
    for (Tensor& g : found) {
        CHECK_FALSE(g.shares_storage(a));
        if (g.requires_grad())
            CHECK(grad({sum(g * g)}, {a})[0].to_vector<double>() == std::vector<double>{2, 20});
        const NoGrad off;
        Tensor changed = g.detach();
        changed *= 7;
        CHECK(a.to_vector<double>() == std::vector<double>{1, 10});
    }
    CHECK(std::ranges::count_if(found, &Tensor::requires_grad) == 4);  // those under create_graph
}

TEST_CASE("grad runs only what lies between the outputs and the inputs", "[autograd]") {
    const Tensor x = leaf({2}), w = leaf({3});
    int runs = 0;
    const Tensor side = record("side", w.detach().clone(), {w}, {}, [&](const Saved&, const Tensor& dy) {
        ++runs;
        return Grads{dy};
    });
    const Tensor y = x * side;
    CHECK(grad({y}, {x}, {}, {.retain_graph = true})[0].item() == 3);
    CHECK(runs == 0);
    CHECK(grad({y}, {w})[0].item() == 2);
    CHECK(runs == 1);
}

TEST_CASE("a seed that no input needs is not visited: no hook, no note in a ledger", "[autograd][hooks]") {
    const Tensor a = leaf({5});
    Tensor y = a * 3;
    std::vector<double> seen;
    y.register_hook([&](const Tensor& dy) { return seen.push_back(dy.item()), Tensor(); });
    const Tensor z = y * 2;
    const auto visited = [&](const std::vector<Tensor>& inputs, GradOptions options = {.retain_graph = true}) {
        const GradientLedger ledger;
        (void)grad({z, y}, inputs, {}, options);
        std::vector<std::string> operations;
        for (const LedgerEntry& entry : ledger.entries()) operations.push_back(entry.operation);
        return operations;
    };
    using Operations = std::vector<std::string>;
    const auto z_is = operation_of(z);
    CHECK(visited({z}) == Operations{z_is});
    CHECK(visited({z}, {.retain_graph = true, .ready = [](std::size_t, const Tensor&) {}}) == Operations{z_is});
    CHECK(visited({z}, {.create_graph = true}) == Operations{z_is});
    CHECK(seen.empty());
    CHECK(visited({y}) == Operations{z_is, operation_of(y)});
    CHECK(visited({a}) == Operations{z_is, operation_of(y), "leaf"});
    CHECK(seen == std::vector<double>{3, 3});  // complete: z's part and the seed
}

TEST_CASE("a gradient that is not in the graph is refused with the way to put it there", "[autograd]") {
    const Tensor x = leaf({2});
    const Tensor dx = grad({x * x}, {x})[0];
    refuses<GraphError>("create_graph = true", [&] { return grad({dx}, {x}); });
    refuses<GraphError>("create_graph = true", [&] { dx.backward(); });
    refuses<GraphError>("is the grad() of a tensor that no backward has reached…call backward() first",
                        [&] { return x.grad().str(); });
}

TEST_CASE("an input that nothing depends on is an error, or undefined when that is allowed", "[autograd]") {
    const Tensor x = leaf({2}), other = leaf({{1, 1}});
    refuses<GraphError>("input 1…(1, 2)…allow_unused", [&] { return grad({x * x}, {x, other}); });
    const auto g = grad({x * x}, {x, other}, {}, {.allow_unused = true});
    CHECK(g[0].item() == 4);
    CHECK_FALSE(g[1].defined());
}

TEST_CASE("a graph of a graph of a graph: the derivatives of x⁴", "[autograd]") {
    const Tensor x = leaf({3});
    const Tensor y = x * x * x * x;
    const Tensor d1 = grad({y}, {x}, {}, again)[0];
    const Tensor d2 = grad({d1}, {x}, {}, again)[0];
    const Tensor d3 = grad({d2}, {x}, {}, again)[0];
    const Tensor d4 = grad({d3}, {x}, {}, again)[0];
    CHECK(d1.item() == 4 * 27);
    CHECK(d2.item() == 12 * 9);
    CHECK(d3.item() == 24 * 3);
    CHECK(d4.item() == 24);
}

TEST_CASE("without create_graph a gradient is outside the graph", "[autograd]") {
    const Tensor x = leaf({3});
    CHECK_FALSE(grad({x * x}, {x})[0].requires_grad());
    CHECK(grad({x * x}, {x}, {}, {.create_graph = true})[0].requires_grad());
    (x * x).backward();
    CHECK_FALSE(x.grad().requires_grad());
}
