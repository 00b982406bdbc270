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
