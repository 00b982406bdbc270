// Versions, saved values and their release, faults inside backward.
#include <stdexcept>

#include "core/array.h"
#include "golden/golden.h"
#include "refusal.h"
#include "weft/core.h"
#include "weft/derive/functional.h"

using namespace weft;

namespace {

Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }

std::weak_ptr<Storage> watch(const Tensor& x) { return x.array().storage; }

}  // namespace

TEST_CASE("a saved output changed in place is refused, and so is a parameter after a step",
          "[autograd][fault]") {
    const Tensor x = leaf({1, 2});
    Tensor y = exp(x);  // dx = dy · y
    {
        const NoGrad off;
        y.mul_(2);
    }
    refuses<GraphError>("exp", [&] { sum(y).backward(); });
    Tensor w = leaf({{1, 2}, {3, 4}});
    const Tensor z = sum(matmul(w, w));
    {
        const NoGrad off;
        w.fill_(0);
    }
    refuses<GraphError>("matmul", [&] { z.backward(); });
}

TEST_CASE("what backward does not need may be changed in place", "[autograd]") {
    const Tensor x = leaf({1, 2});
    Tensor b = tensor({3, 4}, float64), y = x + b;
    const Tensor z = sum(y);
    b.fill_(0);
    {
        const NoGrad off;
        y.fill_(9);
    }
    z.backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{1, 1});
}

TEST_CASE("a product and a quotient keep of their operands what the gradients need", "[autograd]") {
    const Tensor x = leaf({1, 2}), c = tensor({{3, 4}, {5, 8}}, float64);
    Tensor h = -x, y = h * c, q = h / c;
    const std::weak_ptr<Storage> of_h = watch(h), of_q = watch(q), of_c = watch(c);
    const Tensor z = sum(y + q);
    {
        const NoGrad off;
        h.fill_(0), q.fill_(0);
    }
    h = y = q = Tensor();
    CHECK(of_h.expired());
    CHECK(of_q.expired());
    CHECK_FALSE(of_c.expired());
    z.backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{-8 - 1.0 / 3 - 1.0 / 5, -12 - 1.0 / 4 - 1.0 / 8});
    // Where both need a gradient, both are kept; a jvp through one of them finds the other.
    Tensor g = -x;
    const Tensor w = leaf({3, 4}), both = sum(g * w + g / w);
    const Tensor moved = jvp([&](const Tensor& in) { return in * w; }, x.detach(), c[0]).second;
    CHECK(moved.to_vector<double>() == std::vector<double>{9, 16});
    {
        const NoGrad off;
        g.fill_(0);
    }
    refuses<GraphError>("multiply", [&] { both.backward(); });
}

TEST_CASE("a write through a view is seen by the base, its version, and backward", "[autograd][fault]") {
    const Tensor x = leaf({{1, 2}, {3, 4}});
    Tensor base = ones({2, 2}, float64);
    const Tensor y = sum(x * base);
    const auto version = base.version();
    Tensor row = base[1];
    row.fill_(5);
    CHECK(base.to_vector<double>() == std::vector<double>{1, 1, 5, 5});
    CHECK(base.version() == version + 1);
    refuses<GraphError>("changed in place", [&] { y.backward(); });

    const Tensor z = sum(x[0] * base.T()[0]);  // and the other way round: a view is kept, its base changes
    base.mul_(2);
    refuses<GraphError>("multiply", [&] { z.backward(); });
}

TEST_CASE("an output outlives its inputs", "[autograd][fault]") {
    Tensor y, x_kept;
    {
        const Tensor x = leaf({{1, 2}, {3, 4}});
        Tensor w = leaf({{5, 6}, {7, 8}});
        y = sum(tanh(matmul(x, w)) * w);
        x_kept = x;
    }
    CHECK_NOTHROW(y.backward());
    CHECK(x_kept.grad().defined());
    std::vector<Tensor> g;
    {
        const Tensor x = leaf({2});
        g = grad({x * x * x}, {x}, {}, {.create_graph = true});
    }
    CHECK_NOTHROW(g[0].backward());
}

TEST_CASE("record takes a new tensor only", "[autograd]") {
    const Tensor x = leaf({1, 2});
    const Vjp vjp = [](const Saved&, const Tensor& dy) { return Grads{dy}; };
    refuses<GraphError>("record needs a new tensor, but y is one of the inputs; clone() it first",
                        [&] { return record("mine", x, {x}, {}, vjp); });
    const Tensor y = x * 2;
    refuses<GraphError>("record needs a new tensor, but y is already in the graph; compute it under NoGrad",
                        [&] { return record("mine", y, {x}, {}, vjp); });
    const Tensor outside = ones({2}, float64);
    CHECK_FALSE(record("mine", ones({2}, float64), {outside}, {}, vjp).requires_grad());
}

TEST_CASE("an operation of a user's own, as the header writes it", "[autograd]") {
    const auto square = [](const Tensor& x) {
        Tensor y;
        {
            const NoGrad off;
            y = x * x;
        }
        return record("square", y, {x}, {x}, [](const Saved& saved, const Tensor& dy) {
            const Tensor& x = saved[0];
            return Grads{2 * x * dy};
        });
    };
    const Tensor x = leaf({3, -4});
    const Tensor g = grad({sum(square(x))}, {x}, {}, {.create_graph = true})[0];
    CHECK(g.to_vector<double>() == std::vector<double>{6, -8});
    sum(g).backward();
    CHECK(x.grad().to_vector<double>() == std::vector<double>{2, 2});
}

TEST_CASE("backward releases what each node kept as it passes, and not before", "[autograd][memory]") {
    const Tensor x = leaf({1, 2});
    std::weak_ptr<Storage> early, late;
    bool early_alive = false, late_alive = true;
    Tensor y;
    {
        const Tensor a = tensor({3, 4}, float64), b = tensor({5, 6}, float64);
        early = watch(a);
        late = watch(b);
        const Tensor h = record("early", x.detach().clone(), {x}, {a}, [&](const Saved&, const Tensor& dy) {
            early_alive = !early.expired();
            late_alive = !late.expired();
            return Grads{dy};
        });
        y = sum(h * b);  // keeps b, and its rule runs before h's
    }
    CHECK_FALSE(early.expired());
    CHECK_FALSE(late.expired());
    y.backward();
    CHECK(early_alive);
    CHECK_FALSE(late_alive);
    CHECK(early.expired());
    CHECK(y.requires_grad());
}

TEST_CASE("with retain_graph nothing is released until the graph dies", "[autograd][memory]") {
    const Tensor x = leaf({1, 2});
    std::weak_ptr<Storage> kept;
    Tensor y;
    {
        const Tensor a = tensor({3, 4}, float64);
        kept = watch(a);
        y = sum(x * a);
    }
    y.backward({}, true);
    CHECK_FALSE(kept.expired());
    y = {};
    CHECK(kept.expired());
}

TEST_CASE("under NoGrad nothing is kept", "[autograd][memory]") {
    const Tensor x = leaf({1, 2});
    std::weak_ptr<Storage> middle;
    const NoGrad off;
    Tensor y;
    {
        const Tensor h = exp(x);
        middle = watch(h);
        y = h * h;
    }
    CHECK(middle.expired());
}

TEST_CASE("no operation owns its own output: a graph that is dropped is gone", "[autograd][memory]") {
    const Tensor x = leaf({{0.1, 0.2}, {0.3, 0.4}});
    std::weak_ptr<Storage> gone;
    {
        const Tensor y = softmax(sigmoid(tanh(exp(x))) / (x + 2), -1);
        gone = watch(y);
        const auto g = grad({sum(y * y)}, {x}, {}, {.create_graph = true});
    }
    CHECK(gone.expired());
}
