// The order of backward, and what reaches whom: every node once, after all its consumers, and nothing shared by
// accident.
#include <pthread.h>

#include <cmath>
#include <exception>
#include <functional>

#include "catch.h"
#include "golden/golden.h"
#include "weft/core.h"

using namespace weft;

namespace {

Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }

// y = x, writing its name down when its rule runs.
Tensor traced(const char* name, const Tensor& x, std::vector<std::string>& log) {
    return record(name, x.detach().clone(), {x}, {}, [name, &log](const Saved&, const Tensor& dy) {
        log.push_back(name);
        return Grads{dy};
    });
}

// Runs `action` on a thread of its own whose stack is `bytes` large.
void on_small_stack(std::size_t bytes, std::function<void()> action) {
    struct Job {
        std::function<void()> action;
        std::exception_ptr error;
    } job{std::move(action), nullptr};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
    pthread_t thread;
    const auto run = [](void* argument) -> void* {
        auto& job = *static_cast<Job*>(argument);
        try {
            job.action();
        } catch (...) {
            job.error = std::current_exception();
        }
        return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, run, &job) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    if (job.error) std::rethrow_exception(job.error);
}

}  // namespace

TEST_CASE("a residual connection h + f(h) carries both gradients", "[autograd]") {
    const Tensor w = leaf({2, -3}), x = tensor({0.5, 0.25}, float64);
    const Tensor h = w * x;
    sum(h + tanh(h)).backward();
    for (int i = 0; i < 2; ++i) {
        const double t = std::tanh(w.at({i}) * x.at({i}));
        CHECK(w.grad().at({i}) == Approx(x.at({i}) * (1 + (1 - t * t))).epsilon(1e-14));
    }
}

TEST_CASE("a stack of residual blocks multiplies (1 + f′) at every layer", "[autograd]") {
    const Tensor x = leaf({1.5});
    Tensor h = x;
    for (int layer = 0; layer < 10; ++layer) h = h + 0.5 * h;
    h.backward();
    CHECK(x.grad().item() == Approx(std::pow(1.5, 10)).epsilon(1e-14));
}

TEST_CASE("(a + b) + a gives b a gradient of 1 and a one of 2, in memory of their own", "[autograd]") {
    const Tensor a = leaf({1, 2}), b = leaf({3, 4});
    const Tensor seed = ones({2}, float64);
    ((a + b) + a).backward(seed);
    CHECK(a.grad().to_vector<double>() == std::vector<double>{2, 2});
    CHECK(b.grad().to_vector<double>() == std::vector<double>{1, 1});
    CHECK_FALSE(a.grad().shares_storage(b.grad()));
    CHECK_FALSE(b.grad().shares_storage(seed));
}

TEST_CASE("gradients never share memory: not with each other, not with the seed, not with a view's",
          "[autograd]") {
    const Tensor a = leaf({1, 2}), b = leaf({3, 4}), c = leaf({5, 6});
    const Tensor seed = tensor({{7.0}, {8.0}}, float64);
    (a + b - c).reshape({2, 1}).backward(seed);
    const std::vector<Tensor> all = {seed, a.grad(), b.grad(), c.grad()};
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) CHECK_FALSE(all[i].shares_storage(all[j]));
    Tensor changed = a.grad();
    changed.mul_(100);  // as clipping does
    CHECK(seed.to_vector<double>() == std::vector<double>{7, 8});
    CHECK(b.grad().to_vector<double>() == std::vector<double>{7, 8});
    (a + b).backward(ones({2}, float64));  // the sum is a new tensor: who held the old gradient keeps it
    CHECK(a.grad().to_vector<double>() == std::vector<double>{701, 801});
    CHECK(changed.to_vector<double>() == std::vector<double>{700, 800});
    CHECK(b.grad().to_vector<double>() == std::vector<double>{8, 9});
}

TEST_CASE("what grad returns is memory of its own", "[autograd]") {
    Tensor a = leaf({1, 2}), b = leaf({3, 4});
    const Tensor seed = ones({2}, float64);
    auto gradients = grad({a + b}, {a, b}, {seed});
    gradients[0].mul_(100);
    CHECK(gradients[1].to_vector<double>() == std::vector<double>{1, 1});
    CHECK(seed.to_vector<double>() == std::vector<double>{1, 1});
}

TEST_CASE("in a diamond every node runs once, after all its consumers", "[autograd][fault]") {
    std::vector<std::string> log;
    const Tensor x = leaf({1});
    const Tensor top = traced("top", x, log);
    const Tensor left = traced("left", top, log), right = traced("right", top, log);
    const Tensor far = traced("far", left, log);
    sum(far + left + right + top).backward();
    CHECK(log.size() == 4);
    CHECK(log.back() == "top");
    const auto place = [&](const char* name) { return std::find(log.begin(), log.end(), name); };
    CHECK(place("far") < place("left"));
    CHECK(x.grad().item() == 4);
}

TEST_CASE("a ladder of 50 diamonds takes 50 steps and doubles 50 times", "[autograd][fault]") {
    std::vector<std::string> log;
    const Tensor x = leaf({1});
    Tensor h = x;
    for (int i = 0; i < 50; ++i) {
        h = traced("rung", h, log);
        h = h + h;
    }
    h.backward();
    CHECK(log.size() == 50);
    CHECK(x.grad().item() == std::ldexp(1.0, 50));
}

TEST_CASE("a * a has gradient 2a, a / a 0, a - a 0", "[autograd][fault]") {
    Tensor a = leaf({3, -5});
    (a * a).backward(ones({2}, float64));
    CHECK(a.grad().to_vector<double>() == std::vector<double>{6, -10});
    a.zero_grad();
    sum(a / a).backward();
    CHECK(distance(a.grad(), zeros({2}, float64)) < 1e-12);
    a.zero_grad();
    sum(a - a).backward();
    CHECK(a.grad().to_vector<double>() == std::vector<double>{0, 0});
}

TEST_CASE("random graphs have the gradient that forward differentiation finds", "[autograd]") {
    Rng rng(7);
    for (int trial = 0; trial < 50; ++trial) {
        const Tensor x = leaf({rng.uniform()});
        std::vector<Tensor> nodes = {x};
        std::vector<std::pair<double, double>> dual = {
            {x.item(), 1}};  // value and derivative, beside each node
        for (int i = 0; i < 60; ++i) {
            const auto a = static_cast<std::size_t>(rng.randint(0, static_cast<std::int64_t>(nodes.size())));
            const auto b = static_cast<std::size_t>(rng.randint(0, static_cast<std::int64_t>(nodes.size())));
            const auto [u, du] = dual[a];
            const auto [v, dv] = dual[b];
            switch (rng.randint(0, 4)) {
                case 0:
                    nodes.push_back(0.5 * (nodes[a] + nodes[b]));
                    dual.push_back({0.5 * (u + v), 0.5 * (du + dv)});
                    break;
                case 1:
                    nodes.push_back(nodes[a] * nodes[b]);
                    dual.push_back({u * v, u * dv + v * du});
                    break;
                case 2:
                    nodes.push_back(nodes[a] - nodes[b]);
                    dual.push_back({u - v, du - dv});
                    break;
                default:
                    nodes.push_back(tanh(nodes[a]));
                    dual.push_back({std::tanh(u), (1 - std::tanh(u) * std::tanh(u)) * du});
            }
        }
        INFO("trial " << trial);
        nodes.back().backward();
        CHECK(nodes.back().item() == Approx(dual.back().first).epsilon(1e-12).margin(1e-14));
        if (nodes.back().requires_grad() && x.grad().defined())
            CHECK(x.grad().item() == Approx(dual.back().second).epsilon(1e-10).margin(1e-12));
    }
}

TEST_CASE("a chain of 1,000,000 nodes is built, walked and destroyed on a stack of 1 MiB",
          "[autograd][fault]") {
    on_small_stack(std::size_t(1) << 20, [] {
        const Tensor x = ones({1}).requires_grad_();
        {
            Tensor y = x;
            for (int i = 0; i < 1'000'000; ++i) y = -y;
            y.backward();
        }
        if (x.grad().item() != 1) throw Error("wrong gradient: " + x.grad().str());
    });
}

TEST_CASE("a long chain whose nodes keep tensors dies unwalked on a small stack", "[autograd][fault]") {
    on_small_stack(std::size_t(1) << 17, [] {
        const Tensor x = ones({1}).requires_grad_();
        Tensor y = x;
        for (int i = 0; i < 100'000; ++i) y = y * x;  // each keeps the one before: a second chain of owners
        const auto gradients = grad({y}, {x}, {}, {.create_graph = true});
        if (gradients[0].item() != 100'001) throw Error("wrong gradient: " + gradients[0].str());
    });
}
