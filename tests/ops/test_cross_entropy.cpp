// cross_entropy where a shorter formula fails: rows that are left out and hold anything, and large logits.
#include "catch.h"
#include "source.h"

using namespace source;

namespace {

constexpr double NaN = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

struct Computed {
    std::vector<double> loss, gradient, second;  // the second: of Σ gradient²
};

Computed computed(const Tensor& values, const Tensor& targets, bool composed, bool create_graph) {
    const Composed path(composed);
    Tensor x = values.detach().requires_grad_();
    const Tensor loss = cross_entropy(x, targets);
    const Tensor g = grad({loss}, {x}, {}, {.create_graph = create_graph})[0];
    Computed all{loss.detach().to_vector<double>(), g.detach().to_vector<double>(), {}};
    if (g.requires_grad()) all.second = grad({sum(g * g)}, {x})[0].to_vector<double>();
    return all;
}

}  // namespace

TEST_CASE("rows that cross_entropy leaves out change nothing, whatever they hold", "[losses][poison]") {
    const Tensor targets = tensor({1, -100, 0, -100}, int64);
    const Tensor clean = random({4, 3});
    for (const bool composed : {false, true})
        for (const bool create_graph : {false, true})
            for (const double poison : {NaN, inf, -inf}) {
                CAPTURE(composed, create_graph, poison);
                Tensor logits = clean.clone();
                logits.slice(0, 1, 2).fill_(poison);
                logits.slice(0, 3, 4).slice(1, 0, 1).fill_(poison);
                const Computed expected = computed(clean, targets, composed, create_graph),
                               found = computed(logits, targets, composed, create_graph);
                CHECK(found.loss == expected.loss);
                CHECK(found.gradient == expected.gradient);
                CHECK(found.second == expected.second);
                CHECK(found.gradient[3] == 0);  // the ignored row has no gradient
                CHECK(found.gradient[9] == 0);

                const Computed none = computed(logits, full({4}, -100, int64), composed, create_graph);
                CHECK(none.loss == std::vector<double>{0});
                CHECK(none.gradient == std::vector<double>(12, 0));
            }
}

TEST_CASE("at logits of any size float32 gives the loss and the gradient of float64", "[losses]") {
    const Tensor targets = tensor({0, 3, 2}, int64);
    for (const bool composed : {false, true})
        for (const double offset : {0.0, 1e3, 1e6, -1e6, 1e7}) {
            CAPTURE(composed, offset);
            const Composed path(composed);
            Tensor single = (random({3, 5}) * 4 + offset).to(float32).requires_grad_();
            Tensor exact = single.detach().to(float64).requires_grad_();
            const Tensor loss = cross_entropy(single, targets), expected = cross_entropy(exact, targets);
            loss.backward();
            expected.backward();
            CHECK(loss.item() == Approx(expected.item()).epsilon(1e-6));
            CHECK(distance(single.grad().to(float64), exact.grad()) < 1e-7);
        }
}
