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

// As fused operations are written: a definition, which is what the rule differentiates.
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

namespace {

Tensor by_loops(const Tensor& x, double (*f)(double)) {
    std::vector<double> values = x.to_vector<double>();
    for (double& v : values) v = f(v);
    return from_vector(values, x.shape());
}
double twice(double v) { return 2 * v; }

// x², with a rule of 2x dy.
using Rule = std::function<Tensor(const Saved& saved, const Tensor& dy)>;
Tensor user_square(const Tensor& x, const Rule& rule, Jvp tangent = nullptr, bool once = false) {
    const Tensor value = x.detach();
    Vjp vjp = [rule](const Saved& saved, const Tensor& dy) { return Grads{rule(saved, dy)}; };
    return record("user_square", value * value, {x}, {x, 2 * value},
                  once ? once_differentiable(vjp) : std::move(vjp), std::move(tangent));
}

using Unary = Tensor (*)(const Tensor&);
// Forms of x²: first those that can be differentiated again, then those that have lost how they depend on x.
const std::vector<std::pair<std::string, Unary>> recorded_squares{
    {"composed", [](const Tensor& x) { return x * x; }},
    {"recorded",
     [](const Tensor& x) {
         return user_square(x, [](const Saved& saved, const Tensor& dy) { return 2 * saved[0] * dy; });
     }},
    {"fused", [](const Tensor& x) {
         return fused(
             "user_square", {x}, [](const std::vector<Tensor>& in) { return in[0] * in[0]; },
             [&] { return FusedResult{x * x}; },
             [](const Saved& saved, const Tensor& dy) { return Grads{by_loops(saved[0], twice) * dy}; });
     }}};
const std::vector<std::pair<std::string, Unary>> lost_squares{
    {"of elements alone",
     [](const Tensor& x) {
         return user_square(x, [](const Saved& saved, const Tensor& dy) {
             return from_vector((2 * saved[0] * dy).detach().to_vector<double>(), dy.shape());
         });
     }},
    {"to_vector",
     [](const Tensor& x) {
         return user_square(
             x, [](const Saved& saved, const Tensor& dy) { return by_loops(saved[0], twice) * dy; });
     }},
    {"data",
     [](const Tensor& x) {
         return user_square(x, [](const Saved& saved, const Tensor& dy) {
             Tensor factor = zeros_like(saved[0]).detach();
             for (std::int64_t i = 0; i < factor.numel(); ++i)
                 factor.data<double>()[i] = 2 * saved[0].contiguous().data<double>()[i];
             return factor * dy;
         });
     }},
    {"at",
     [](const Tensor& x) {
         return user_square(x, [](const Saved& saved, const Tensor& dy) {
             return dy * tensor({2 * saved[0].at({0}), 2 * saved[0].at({1}), 2 * saved[0].at({2})}, float64);
         });
     }},
    {"item",
     [](const Tensor& x) {
         return user_square(x, [](const Saved& saved, const Tensor& dy) {
             std::vector<Tensor> parts;
             for (std::int64_t i = 0; i < 3; ++i) parts.push_back(dy[i] * (2 * saved[0][i].item()));
             return stack(parts);
         });
     }},
    {"computed on the way",
     [](const Tensor& x) {
         return user_square(x, [](const Saved& saved, const Tensor& dy) { return saved[1] * dy; });
     }},
    {"once",
     [](const Tensor& x) {
         return user_square(
             x, [](const Saved& saved, const Tensor& dy) { return 2 * saved[0] * dy; }, nullptr, true);
     }},
    {"reference", [](const Tensor& x) {
         return fused(
             "user_square", {x},
             [](const std::vector<Tensor>& in) { return in[0] * by_loops(in[0], [](double v) { return v; }); },
             [&] { return FusedResult{x * x}; },
             [](const Saved& saved, const Tensor& dy) { return Grads{2 * saved[0] * dy}; });
     }}};

// Every route by which a derivative of f is made, of the first and the second order.
std::vector<Tensor> derivatives(const std::function<Tensor(const Tensor&)>& f, int route) {
    const Tensor x = tensor({1, 2, 3}, float64), v = tensor({1, -10, 100}, float64);
    const auto total = [&](const Tensor& x) { return sum(x * f(x)); };
    const auto slope = [&](const Tensor& x) {
        const Tensor own = x.requires_grad() ? x : x.detach().requires_grad_();
        return grad({total(own)}, {own}, {}, {.create_graph = true})[0];
    };
    switch (route) {
        case 0:
            return {vjp(total, x).second};
        case 1:
            return {jvp(total, x, v).second};
        case 2:
            return {hessian(total, x)};
        case 3:
            return {hvp(total, x, v).second};
        case 4:
            return {vjp(slope, x, v).second};
        case 5:
            return {jacobian(slope, x)};
        case 6:
            return {jvp([&](const Tensor& x) { return jvp(total, x, v).second; }, x, v).second};
        default:
            return {vjp([&](const Tensor& x) { return jvp(f, x, v, true).second; }, x, v, true).second};
    }
}

}  // namespace

TEST_CASE("a rule that is differentiated is right, or refused if it has lost how it depends on something",
          "[autograd][fault]") {
    std::vector<std::pair<std::string, Unary>> all = recorded_squares;
    all.insert(all.end(), lost_squares.begin(), lost_squares.end());
    std::map<std::string, int> refused;
    for (const auto& [outer_name, outer] : all)
        for (const auto& [inner_name, inner] : all)
            for (int route = 0; route < 8; ++route) {
                const std::string name = outer_name + " of " + inner_name;
                INFO(name << ", route " << route);
                const auto f = [outer = outer, inner = inner](const Tensor& x) { return outer(inner(x)); };
                std::vector<Tensor> found;
                try {
                    found = derivatives(f, route);
                } catch (const GraphError& error) {
                    CHECK_THAT(error.what(), Catch::StartsWith("user_square: "));
                    ++refused[name];
                    continue;
                }
                const Tensor expected = derivatives([](const Tensor& x) { return x * x * x * x; }, route)[0];
                CHECK(max(abs(found[0] - expected)).item() < 1e-9 * max(abs(expected)).item());
            }
    for (const auto& [name, square] : recorded_squares) CHECK(refused.count(name + " of " + name) == 0);
    for (const auto& [name, square] : lost_squares) {
        INFO(name);
        CHECK(refused[name + " of composed"] >= 6);  // all but the first order
    }
}

TEST_CASE("a rule that reads what it declared constant is differentiated", "[autograd]") {
    const auto scaled = [](const Tensor& x) {
        return record("user_scaled", x.detach() * 3.0, {x}, {tensor({3, 3, 3}, float64)},
                      [](const Saved& saved, const Tensor& dy) {
                          const NoGrad off;
                          const double factor = saved[0].detach().at({0});
                          const EnableGrad on;
                          return Grads{saved[0].detach() * dy * (factor / 3)};
                      });
    };
    const auto f = [&](const Tensor& x) { return sum(x * scaled(x)); };
    CHECK(max(abs(hessian(f, ones({3}, float64)) - 6 * eye(3, float64))).item() < 1e-12);
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
    CHECK(Observer::watching() == 1);
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
