// Leaves and the others, modes, hooks, seeds: the rules of the graph.
#include <stdexcept>
#include <thread>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/core.h"

using namespace weft;

namespace {
Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }
}  // namespace

TEST_CASE("who is a leaf and who requires a gradient", "[autograd]") {
    const Tensor plain = ones({2}), x = ones({2}).requires_grad_();
    CHECK((plain.is_leaf() && !plain.requires_grad()));
    CHECK((x.is_leaf() && x.requires_grad()));
    const Tensor y = x * plain, z = plain * plain;
    CHECK((!y.is_leaf() && y.requires_grad()));
    CHECK((z.is_leaf() && !z.requires_grad()));
    CHECK(std::string(operation_of(x)) == "leaf");
    CHECK(std::string(operation_of(y)) == "multiply");
    CHECK(std::string(operation_of(z)).empty());
    CHECK_FALSE((x == plain).requires_grad());
    CHECK_FALSE(argmax(x, 0).requires_grad());
    CHECK_FALSE(max(x, 0).indices.requires_grad());
}

TEST_CASE("a leaf taken out of the graph is used as a constant from then on", "[autograd]") {
    Tensor x = leaf({2});
    const Tensor w = leaf({3});
    x.requires_grad_(false);
    (w * x).backward();
    CHECK(w.grad().item() == 2);
    CHECK_FALSE(x.grad().defined());
}

TEST_CASE("only leaves keep their gradient, and others when asked to", "[autograd]") {
    const Tensor x = leaf({3});
    Tensor y = x * x, z = y * y;
    y.retain_grad();
    z.backward();
    CHECK(y.grad().item() == 18);
    CHECK(x.grad().item() == 108);
    CHECK_FALSE(z.grad().defined());
}

TEST_CASE("copies of a tensor are the same tensor", "[autograd]") {
    const Tensor x = leaf({1, 2});
    const Tensor same = x;
    sum(same).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{1, 1});
}

TEST_CASE("a detached branch has no gradient, rather than zero", "[autograd][fault]") {
    const Tensor x = leaf({2}), cut = leaf({5});
    (x * cut.detach() + 1).backward();
    CHECK(x.grad().item() == 5);
    CHECK_FALSE(cut.grad().defined());
    CHECK(cut.detach().shares_storage(cut));
    CHECK_FALSE(cut.detach().requires_grad());
    Tensor d = cut.detach();
    const auto before = cut.version();
    d.fill_(7);
    CHECK(cut.version() == before + 1);
    CHECK(cut.item() == 7);
}

TEST_CASE("NoGrad nests, ends by an exception, and is per thread", "[autograd][fault]") {
    const Tensor x = leaf({2});
    REQUIRE(is_grad_enabled());
    {
        const NoGrad outer;
        CHECK_FALSE((x * x).requires_grad());
        {
            const EnableGrad inner;
            CHECK((x * x).requires_grad());
            const NoGrad innermost;
            CHECK_FALSE(is_grad_enabled());
        }
        CHECK_FALSE(is_grad_enabled());
        bool elsewhere = false;
        std::thread([&] { elsewhere = is_grad_enabled(); }).join();
        CHECK(elsewhere);
    }
    CHECK(is_grad_enabled());
    try {
        const NoGrad off;
        const Plain composed(Plain::operations);
        throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
    }
    CHECK(is_grad_enabled());
    CHECK_FALSE(is_plain(Plain::operations));
    CHECK((x * x).requires_grad());
}

TEST_CASE("the mode comes back after a rule throws in backward, and after create_graph", "[autograd]") {
    const Tensor x = leaf({2});
    const Tensor y = record("fails", tensor({1}, float64), {x}, {},
                            [](const Saved&, const Tensor&) -> Grads { throw std::runtime_error("rule"); });
    CHECK_THROWS_AS(y.backward(), std::runtime_error);
    CHECK(is_grad_enabled());
    CHECK_THROWS_AS(grad({y}, {x}, {}, {.create_graph = true}), std::runtime_error);
    const NoGrad off;
    const Tensor z = [&] {
        const EnableGrad on;
        return x * x;
    }();
    const auto g = grad({z}, {x}, {}, {.create_graph = true});
    CHECK(g[0].requires_grad());
    CHECK_FALSE(is_grad_enabled());
}

TEST_CASE("a hook sees the whole gradient once, and may replace it", "[autograd][hooks]") {
    Tensor x = leaf({3});
    Tensor h = 1.0 * x;
    std::vector<double> seen, at_leaf;
    h.register_hook([&](const Tensor& g) {
        seen.push_back(g.item());
        return g * 10;
    });
    const auto second = h.register_hook([&](const Tensor& g) {
        seen.push_back(g.item());
        return Tensor();  // leaves it
    });
    x.register_hook([&](const Tensor& g) {
        at_leaf.push_back(g.item());
        return Tensor();
    });
    h.retain_grad();
    (h * 2 + h).backward({}, true);
    CHECK(seen == std::vector<double>{3, 30});
    CHECK(h.grad().item() == 30);
    CHECK(at_leaf == std::vector<double>{30});
    CHECK(x.grad().item() == 30);
    h.remove_hook(second);
    (h * 2 + h).backward();
    CHECK(seen == std::vector<double>{3, 30, 3});
    CHECK(x.grad().item() == 60);
}

TEST_CASE(
    "what a hook or a rule changes in place is refused, and no gradient, seed or saved tensor has changed",
    "[autograd][hooks][fault]") {
    const Tensor a = leaf({1, 2}), b = leaf({3, 4}), seed = tensor({3, 3}, float64);
    using Rule = std::function<void(const Saved&, const Tensor&)>;
    const auto mine = [](const Tensor& x, const Rule& rule) {
        return record("mine", x.detach().clone(), {x}, {x}, [rule](const Saved& saved, const Tensor& dy) {
            rule(saved, dy);
            return Grads{dy};
        });
    };
    const auto refused = [&](const std::string& words, const Tensor& y, bool of_seed = false) {
        const auto state = [&] {
            std::string text;
            for (const Tensor& x : {a, b, seed})
                text += x.repr() + (x.grad().defined() ? x.grad().repr() : "none");
            return text;
        };
        const std::string message = words +
                                    " was given this tensor of shape (2,), which others hold, too; change a "
                                    "clone() of it";
        refuses<GraphError>(message, state, [&] { y.backward(seed, true); });
        refuses<GraphError>(message, state, [&] { (void)grad({y}, {a, b}, {seed}, {.retain_graph = true}); });
        if (of_seed) return;  // under create_graph gradients begin with a copy of it
        refuses<GraphError>(message, state, [&] { (void)grad({y}, {a, b}, {seed}, {.create_graph = true}); });
    };
    const auto changed_by = [&](const Tensor::Hook& hook, const std::string& words, bool of_seed = false) {
        Tensor x = 1 * a;
        (void)x.register_hook(hook);
        refused(words + ": a hook or the gradient rule of multiply", x + b, of_seed);
    };
    changed_by([](const Tensor& g) { return Tensor(g).mul_(10); }, "mul_");
    changed_by([](const Tensor& g) { return Tensor(g).slice(0, 0, 2).fill_(1), Tensor(); }, "fill_");
    changed_by([](const Tensor& g) { return Tensor(g).set_data(ones({3}, float64)), Tensor(); }, "set_data");
    changed_by([&](const Tensor&) { return Tensor(seed).add_(ones({2}, float64)), Tensor(); }, "add_", true);
    Tensor kept;  // by another hook, whose tensor has another gradient, which waits
    Tensor early = b + zeros({2}, float64), late = 2 * early;
    (void)early.register_hook([&](const Tensor& g) { return kept = g, Tensor(); });
    (void)Tensor(a).register_hook([&](const Tensor&) { return kept.defined() ? kept.mul_(2) : Tensor(); });
    refused("mul_: a hook or the gradient rule of leaf", late + a);
    Tensor(a).remove_hook(0);
    refused("mul_: a hook or the gradient rule of mine",
            mine(a, [](const Saved&, const Tensor& dy) { Tensor(dy).mul_(10); }) + b);
    refused("mul_: a hook or the gradient rule of mine",
            mine(a, [](const Saved& saved, const Tensor&) { Tensor(saved[0]).detach().mul_(10); }) + b);
    refused("mul_: a hook or the gradient rule of mine",
            mine(a,
                 [&](const Saved&, const Tensor&) {
                     const EnableGrad on;
                     const Tensor x = leaf({1, 1});
                     (x * seed).backward(ones({2}, float64));
                     Tensor(seed).mul_(10);
                 }) +
                b,
            true);
    CHECK(all(grad({a + b}, {a}, {seed})[0] == seed));
    // What is not lent may be changed: a copy, a parameter, and the gradient that `ready` gets.
    Tensor seen;
    (void)Tensor(a).register_hook([&](const Tensor& g) {
        const NoGrad off;
        Tensor(b).mul_(2);
        return seen = g.clone().mul_(2);
    });
    (void)grad({a * 2 + b}, {a, b}, {seed}, {.ready = [](std::size_t, Tensor g) { g.mul_(2); }});
    CHECK(all(seen == 4 * seed));
    CHECK(all(seed == 3));
    CHECK(all(b == tensor({6, 8}, float64)));
}

TEST_CASE("a function that changes what it is given is refused by what calls it", "[autograd][fault]") {
    const Tensor x = leaf({1, 2}), plain = tensor({1, 2}, float64);
    const auto all_values = [&] { return x.repr() + plain.repr(); };
    const auto refused = [&](const std::string& to, const std::function<void()>& call) {
        refuses<GraphError>("mul_: " + to + " was given this tensor of shape (2,), which others hold, too",
                            all_values, call);
    };
    const auto f = [](const std::vector<Tensor>& in) {
        const NoGrad off;
        return Tensor(in[0]).detach().mul_(2);
    };
    const std::string to_differentiate = "the function to differentiate";
    refused(to_differentiate, [&] { (void)jvp(f, {x}, {ones_like(x)}); });
    refused(to_differentiate, [&] { (void)vjp(f, {x}, {ones_like(x)}); });
    refused(to_differentiate, [&] { (void)jacobian(f, {x}); });
    refused(to_differentiate, [&] { (void)jacobian(f, {x}, {.strategy = Strategy::forward_mode}); });
    refused(to_differentiate, [&] { (void)hessian(f, {x}); });
    refused(to_differentiate, [&] { (void)hvp(f, {x}, {ones_like(x)}); });
    for (const Tensor& in : {x, plain}) {
        refused("the function of checkpoint", [&] { (void)checkpoint(f, {in}); });
        const NoGrad off;
        const Plain reference(Plain::operations);
        refused("mine", [&] { (void)fused("mine", {in}, f, [] { return FusedResult(); }); });
    }
    const Tensor direction = ones({2}, float64);
    const auto moved = [&](const Tensor& in) {
        return record(
            "mine", in.detach().clone(), {in}, {in}, [](const Saved&, const Tensor& dy) { return Grads{dy}; },
            [](const Saved&, const std::vector<Tensor>& dx) { return Tensor(dx[0]).mul_(2); });
    };
    refused("a rule of mine", [&] { (void)jvp(moved, x, direction); });
    CHECK(all(direction == 1));
}

TEST_CASE("a hook does not act on a backward that it calls", "[autograd][hooks]") {
    const Tensor x = leaf({3});
    Tensor h = x * x;
    const Tensor y = h * 2;
    double inner = 0;
    h.register_hook([&](const Tensor& g) {
        inner = grad({y}, {x}, {}, {.retain_graph = true})[0].item();
        return 10 * g;
    });
    CHECK(grad({y}, {x}, {}, {.retain_graph = true})[0].item() == 120);
    CHECK(inner == 12);
}

TEST_CASE("removing a hook never removes another, whatever was removed before", "[autograd][hooks]") {
    const Tensor x = leaf({1});
    Tensor h = 1.0 * x;
    int a = 0, b = 0;
    const auto first = h.register_hook([&](const Tensor&) { return ++a, Tensor(); });
    h.remove_hook(first);
    h.register_hook([&](const Tensor&) { return ++b, Tensor(); });
    h.remove_hook(first);  // gone already
    h.backward();
    CHECK(a == 0);
    CHECK(b == 1);
}

TEST_CASE("with retain_graph a second backward runs", "[autograd]") {
    const Tensor x = leaf({3}), z = x * x;
    z.backward({}, true);
    z.backward();
    CHECK(x.grad().item() == 12);
}

TEST_CASE("backward from one element needs no seed, whatever its rank", "[autograd]") {
    const Tensor one = leaf({{4}});
    (one * one).backward();
    CHECK(one.grad().at({0, 0}) == 8);
}

TEST_CASE("two backwards add up exactly", "[autograd][fault]") {
    Rng rng(5);
    Tensor x = randn({50}, rng).requires_grad_(), w = randn({50}, rng);
    sum(x * w).backward();
    const Tensor first = x.grad().clone();
    sum(exp(x)).backward();
    const Tensor both = x.grad().clone();
    x.zero_grad();
    CHECK_FALSE(x.grad().defined());
    sum(exp(x)).backward();
    CHECK(same_bits(both, first + x.grad()));
}

TEST_CASE("set_grad takes a gradient, and none", "[autograd]") {
    Tensor x = leaf({1, 2});
    x.set_grad(tensor({3, 4}, float64));
    CHECK(x.grad().at({1}) == 4);
    x.set_grad({});
    CHECK_FALSE(x.grad().defined());
}
