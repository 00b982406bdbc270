// The order of backward, and what reaches whom: every node once, after all its consumers, and nothing shared by
// accident.
// Leaves: what they own, and that they stay the same leaf.
#include <pthread.h>
#include <cmath>
#include <exception>
#include <functional>
#include <new>

#include "catch.h"
#include "golden/golden.h"
#include "weft/core.h"
#include "weft/nn/layers.h"
#include "weft/optim/clipping.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedules.h"

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

const auto doubled = [](const Tensor& g) { return g * 2; };

}  // namespace

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

TEST_CASE("set_grad copies: two parameters that were given one gradient have one each", "[autograd][leaves]") {
    Tensor a = leaf({0}), b = leaf({0}), g = tensor({3}, float64);
    a.set_grad(g);
    b.set_grad(g);
    // ‖(3, 3)‖ = 3√2, so clipping to √½ leaves a sixth of each.
    optim::clip_grad_norm(std::vector<Tensor>{a, b}, std::sqrt(0.5));
    CHECK(a.grad().item() == Approx(0.5).epsilon(1e-5));
    CHECK(b.grad().item() == Approx(0.5).epsilon(1e-5));
    CHECK(g.item() == 3);
    const Tensor wide = tensor({1}, float64).expand({3});
    Tensor c = leaf({1, 2, 3});
    c.set_grad(wide);
    c.grad().mul_(2);  // in place on every element of its own
    CHECK(c.grad().to_vector<double>() == std::vector<double>{2, 2, 2});
    c.set_grad({});
    CHECK_FALSE(c.grad().defined());
}

TEST_CASE("hook numbers stay unique when set_data replaces the tensor's values", "[autograd][leaves]") {
    Tensor x = leaf({1});
    const auto first = x.register_hook(doubled);
    x.set_data(tensor({5}, float64));
    const auto second = x.register_hook(doubled);
    CHECK(first != second);
    x.remove_hook(first);
    (x * 3).backward();
    CHECK(x.grad().item() == 6);  // the second hook is there still
}

TEST_CASE("a set_data that is refused leaves the leaf as it was", "[autograd][leaves]") {
    Tensor x = leaf({1, 2});
    x.register_hook(doubled);
    x.set_grad(ones({2}, float64));
    const Tensor y = sum(x * 3);
    CHECK_THROWS_AS(x.set_data(arange(3)), DTypeError);
    CHECK_THROWS_AS(x.set_data(zeros({1}, float64).expand({std::int64_t{1} << 58})), std::bad_alloc);
    CHECK(x.shape() == Shape{2});
    y.backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{7, 7});  // 1 + 2 · 3
}

TEST_CASE("a leaf that leaves the graph and comes back is the same leaf", "[autograd][leaves]") {
    Tensor x = leaf({1});
    x.register_hook(doubled);
    x.set_grad(tensor({1}, float64));
    const Tensor y = x * 3, z = x * 5;
    x.requires_grad_(false);
    CHECK_FALSE(x.requires_grad());
    CHECK_FALSE(x.grad().defined());
    z.backward();  // while it is out: no gradient is left
    x.requires_grad_();
    CHECK(x.grad().item() == 1);
    y.backward();
    CHECK(x.grad().item() == 7);  // 1 + 2 · 3
    x.requires_grad_(false).zero_grad();
    CHECK_FALSE(x.requires_grad_().grad().defined());
    x.requires_grad_(false).set_data(tensor({4, 5}, float64));
    x.requires_grad_();
    sum(x * x).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{16, 20});  // doubled by the hook
    x.requires_grad_(false).set_data(arange(2));
    CHECK_THROWS_AS(x.requires_grad_(), DTypeError);
    x.set_data(tensor({1}, float32));
    CHECK(x.requires_grad_().dtype() == float32);
}

TEST_CASE("under NoGrad no operation returns a tensor in the graph, also where it has nothing to do",
          "[autograd][leaves]") {
    const Tensor x = leaf({{1, 2}, {3, 4}});
    const auto results = [&] {
        Rng rng(1);
        const nn::Dropout off(0, rng);
        return std::vector<Tensor>{x.contiguous(),
                                   x.T().contiguous(),
                                   x.to(float64),
                                   sum_to(x, {2, 2}),
                                   sum_to(x, {2}),
                                   dropout(x, 0, rng),
                                   dropout(x, 0.5, rng, false),
                                   off(x),
                                   broadcast_to(x, {2, 2}),
                                   x.reshape({2, 2}),
                                   x.expand({2, 2}),
                                   x.slice(0, 0, 2)};
    };
    for (const Tensor& y : results()) CHECK(y.requires_grad());
    const NoGrad off;
    for (const Tensor& y : results()) CHECK_FALSE(y.requires_grad());
    for (std::size_t i : {0U, 2U, 3U, 5U, 6U, 7U}) CHECK(results()[i].shares_storage(x));
    // So an operation may compute its result by any of them, whatever the shapes.
    Tensor same = sum_to(x, {2, 2});
    const EnableGrad on;
    CHECK(record("same", same, {x}, {}, [](const Saved&, const Tensor& dy) {
              return Grads{dy};
          }).requires_grad());
}
