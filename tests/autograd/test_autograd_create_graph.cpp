// Gradients made with create_graph are the same as without, whatever is used twice, hooked or traced.
#include "catch.h"
#include "weft/check/gradcheck.h"
#include "weft/core.h"

using namespace weft;

namespace {

Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// The largest difference between the gradients of Σf by grad with and without create_graph.
double distance(const Function& f, const std::vector<Tensor>& leaves) {
    const auto gradients = [&](bool create) {
        return grad({sum(f(leaves))}, leaves, {}, {.create_graph = create});
    };
    const auto plain = gradients(false), created = gradients(true);
    double largest = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i)
        largest = std::max(largest, max(abs(plain[i] - created[i].detach())).item());
    return largest;
}

Tensor random_leaf(const Shape& shape, Rng& rng) { return randn(shape, rng, float64).requires_grad_(); }

// As fused operations are written: a reference implementation, which is what the rule differentiates.
Tensor user_product(const Tensor& a, const Tensor& b) {
    const auto reference = [](const Tensor& a, const Tensor& b) { return a * b * b; };
    Tensor y;
    {
        const NoGrad off;
        y = reference(a, b);
    }
    return record("user_product", y, {a, b}, {a, b}, [reference](const Saved& saved, const Tensor& dy) {
        const EnableGrad on;
        Tensor a = saved[0], b = saved[1];
        if (!a.requires_grad()) a = a.detach().requires_grad_();
        if (!b.requires_grad()) b = b.detach().requires_grad_();
        return grad({reference(a, b)}, {a, b}, {dy}, {.create_graph = is_grad_enabled()});
    });
}

}  // namespace

TEST_CASE("a weight used twice, and five times, has one gradient with create_graph and without", "[autograd]") {
    const Tensor x = tensor({{1}}, float64), W = leaf({{2}});
    const auto power = [&](int n) {
        Tensor y = x;
        for (int i = 0; i < n; ++i) y = linear(y, W);
        return grad({sum(y)}, {W}, {}, {.create_graph = true})[0];
    };
    CHECK(power(2).item() == 4);
    CHECK(power(5).item() == 80);
    CHECK(grad({sum(power(5))}, {W})[0].item() == 160);  // 5 · 4 · W³
}

TEST_CASE("one tensor in several places of a fused operation, or one input made from another", "[autograd]") {
    Rng rng(1);
    const std::pair<const char*, Function> functions[] = {
        {"linear(x, x)", [](const auto& in) { return linear(in[0], in[0]); }},
        {"linear with its weight's row as bias", [](const auto& in) { return linear(in[0], in[0], in[0][0]); }},
        {"attention of z to itself",
         [](const auto& in) { return scaled_dot_product_attention(in[0], in[0], in[0]); }},
        {"attention of z to what is made of z",
         [](const auto& in) { return scaled_dot_product_attention(in[0], tanh(in[0]), in[0] * in[0]); }},
        {"layer_norm(x, sum(x, 0))", [](const auto& in) { return layer_norm(in[0], sum(in[0], 0)); }},
        {"layer_norm(x, w, w)", [](const auto& in) { return layer_norm(in[0], in[0][0], in[0][0]); }},
        {"one bias twice",
         [](const auto& in) { return linear(linear(in[0], in[0], in[0][0]), in[0], in[0][0]); }},
        {"packed attention of a packed sum",
         [](const auto& in) {
             return multi_head_attention(cat({in[0], in[0], in[0]}, -1), 2);
         }},
        {"an operation of a user", [](const auto& in) { return user_product(in[0], tanh(in[0])); }},
        {"an operation of a user, twice",
         [](const auto& in) { return user_product(user_product(in[0], in[0]), in[0]); }}};
    for (const auto& [name, f] : functions) {
        INFO(name);
        const Tensor x = random_leaf({4, 4}, rng);
        CHECK(distance(f, {x}) < 1e-13);
        const auto scaled = [&f = f](const std::vector<Tensor>& in) { return f({in[0] * 0.5}); };
        const auto report = check::gradgradcheck(name, scaled, {x});
        CHECK(report.message.empty());
    }
}

TEST_CASE("a gradient that is constant is outside the graph, with create_graph too", "[autograd]") {
    Rng rng(1);
    const Tensor x = randn({2, 3}, rng, float64).requires_grad_(), c = randn({3, 3}, rng, float64);
    for (const Tensor& y : {x * c[0], matmul(x, c), linear(x, c), where(c[0] > 0, x, 0 * x)})
        CHECK_FALSE(grad({sum(y)}, {x}, {}, {.create_graph = true})[0].requires_grad());
    CHECK(grad({sum(x * x)}, {x}, {}, {.create_graph = true})[0].requires_grad());
}

TEST_CASE("a hook on an input of a fused operation runs once", "[autograd]") {
    const Tensor x = leaf({0.5, -1});
    int calls = 0;
    Tensor h = x * 1.0;
    h.register_hook([&](const Tensor& g) {
        ++calls;
        return 2 * g;
    });
    const double plain = sum(grad({sum(gelu(h))}, {x}, {}, {.retain_graph = true})[0]).item();
    CHECK(calls == 1);
    CHECK(sum(grad({sum(gelu(h))}, {x}, {}, {.create_graph = true})[0]).item() == Approx(plain).epsilon(1e-14));
    CHECK(calls == 2);
}

TEST_CASE("backward writes nothing into an open Trace", "[autograd][trace]") {
    Rng rng(3);
    const Tensor z = random_leaf({3, 4}, rng);
    const Trace trace;
    const Tensor y = traced("y", scaled_dot_product_attention(z, z, z, {.mask = Mask::causal()}));
    (void)grad({sum(y)}, {z}, {}, {.create_graph = true});
    sum(y).backward();
    CHECK(trace.entries().size() == 1);
    CHECK(Trace::current() == &trace);
}

TEST_CASE("gradcheck and gradgradcheck compare the routes of a gradient", "[autograd][check]") {
    // A rule that is right for backward, and wrong where a graph of the gradient is made.
    const auto twofaced = [](const std::vector<Tensor>& in) {
        Tensor y;
        {
            const NoGrad off;
            y = 3 * in[0];
        }
        return record("twofaced", y, {in[0]}, {}, [](const Saved&, const Tensor& dy) {
            return Grads{dy * (is_grad_enabled() ? 4.0 : 3.0)};
        });
    };
    const auto first = check::gradcheck("twofaced", twofaced, {leaf({1, 2})});
    CHECK(contains(first.message, "gradcheck of twofaced: input 0 (2,) at (0,): "));
    CHECK(contains(first.message, "by grad with create_graph"));
    CHECK(contains(check::gradgradcheck("twofaced", twofaced, {leaf({1, 2})}).message, "create_graph"));
}

TEST_CASE("a chain of a million nodes with create_graph is built and destroyed without recursion",
          "[autograd]") {
    const Tensor x = leaf({1});
    Tensor y = x;
    for (int i = 0; i < 300'000; ++i) y = y * 1.0;
    Tensor g = grad({y}, {x}, {}, {.create_graph = true})[0];
    CHECK(g.item() == 1);
    y = Tensor(), g = Tensor();
}
