// What the table of operations does not show of losses and of the operations that choose: reductions beside
// each other, what is left out, what meets, and the edges.
#include <cmath>

#include "catch.h"
#include "refusal.h"
#include "source.h"

using namespace weft;

namespace {

const double inf = INFINITY;

Tensor leaf(const Nested& values) { return tensor(values, float64).requires_grad_(); }
std::vector<double> gradient(const Tensor& y, const Tensor& x) {
    return grad({sum(y)}, {x}, {}, {.retain_graph = true})[0].to_vector<double>();
}
using Values = std::vector<double>;

// The loss, its gradient, and that of Σ gradient².
struct Computed {
    Values loss, gradient, second;
    bool operator==(const Computed&) const = default;
};

Computed computed(const Tensor& values, const Tensor& targets, const CrossEntropyOptions& options,
                  bool create_graph) {
    const Tensor x = values.detach().requires_grad_(), loss = cross_entropy(x, targets, options);
    const Tensor g = grad({sum(loss)}, {x}, {}, {.create_graph = create_graph})[0];
    Computed all{loss.detach().to_vector<double>(), g.detach().to_vector<double>(), {}};
    if (g.requires_grad()) all.second = grad({sum(g * g)}, {x})[0].to_vector<double>();
    return all;
}

}  // namespace

TEST_CASE("a threshold that float32 does not hold acts as it does in float64", "[losses]") {
    const auto of = [](auto loss, double threshold, DType dtype) {
        const Tensor d = tensor({0, 1, -1e30}).to(dtype).requires_grad_();
        const Tensor y = loss(d, zeros_like(d), threshold, Reduction::none);
        return std::vector{y.detach().to(float64), grad({sum(y)}, {d})[0].to(float64)};
    };
    const auto check = [&](auto loss, double threshold, const Tensor& expected) {
        const auto single = of(loss, threshold, float32), twice = of(loss, threshold, float64);
        INFO(threshold << ": " << single[0] << twice[0] << ", gradients " << single[1] << twice[1]);
        CHECK(allclose(single[0], expected.to(float64), 1e-6, 0));
        for (const int i : {0, 1})
            CHECK(
                allclose(single[static_cast<std::size_t>(i)], twice[static_cast<std::size_t>(i)], 1e-6, 1e-45));
    };
    check(smooth_l1_loss, 1e-50, tensor({0.0, 1, 1e30}));
    check(smooth_l1_loss, 1e50, tensor({0.0, 0, 5e9}));                  // ½d²/β
    check(huber_loss, 1e-50, tensor({0.0, 0, 1e-20}));                   // δ·|d|
    CHECK(all(isinf(huber_loss(tensor({1e30}), tensor({0.0}), 1e50))));  // ½d²
    refuses<ValueError>("smooth_l1_loss: beta is inf; it must be finite, 0 or more",
                        [] { smooth_l1_loss(ones({1}), ones({1}), inf); });
}

TEST_CASE("the sum and the mean of every loss are those of its elements", "[losses]") {
    Rng rng(1);
    const Tensor a = rand({3, 4}, rng, float64), b = rand({3, 4}, rng, float64);
    const Tensor targets = tensor({1, -100, 3}, int64), weight = rand({4}, rng, float64);
    const auto classes = [&](Reduction r, const Tensor& w, double smoothing) {
        return cross_entropy(a, targets, {.weight = w, .label_smoothing = smoothing, .reduction = r});
    };
    const std::function<Tensor(Reduction)> losses[] = {
        [&](Reduction r) { return mse_loss(a, b, r); },
        [&](Reduction r) { return l1_loss(a, b, r); },
        [&](Reduction r) { return huber_loss(a, b, 0.3, r); },
        [&](Reduction r) { return smooth_l1_loss(a, b, 0.3, r); },
        [&](Reduction r) { return binary_cross_entropy(a, b, r); },
        [&](Reduction r) { return binary_cross_entropy_with_logits(a, b, r); },
        [&](Reduction r) { return kl_div(a, b, r); },
        [&](Reduction r) { return kl_div(a, b, r, true); },
        [&](Reduction r) { return nll_loss(a, targets, {}, -100, r); },
        [&](Reduction r) { return nll_loss(a, targets, weight, -100, r); },
        [&](Reduction r) { return classes(r, {}, 0); },
        [&](Reduction r) { return classes(r, {}, 0.2); },
        [&](Reduction r) { return classes(r, weight, 0); },
        [&](Reduction r) { return classes(r, weight, 0.2); }};
    for (std::size_t i = 0; i < std::size(losses); ++i) {
        INFO("loss " << i);
        const bool of_classes = i >= 8, is_weighted = i == 9 || i >= 12;
        const Tensor each = losses[i](Reduction::none);
        CHECK(each.shape() == (of_classes ? Shape{3} : Shape{3, 4}));
        if (of_classes) CHECK(each.at({1}) == 0);
        const double total = sum(each).item();
        const double counted = !of_classes ? 12 : is_weighted ? weight.at({1}) + weight.at({3}) : 2;
        CHECK(losses[i](Reduction::sum).item() == Approx(total).epsilon(1e-12));
        CHECK(losses[i](Reduction::batchmean).item() == Approx(total / 3).epsilon(1e-12));
        CHECK(losses[i](Reduction::mean).item() == Approx(total / counted).epsilon(1e-12));
    }
    CHECK(mse_loss(tensor(3.0), tensor(1.0), Reduction::batchmean).item() == 4);
}

TEST_CASE("rows that cross_entropy leaves out change nothing, whatever they hold", "[losses][poison]") {
    const Tensor targets = tensor({1, -100, 0, -100}, int64), clean = source::random({4, 3});
    const Tensor weight = tensor({1, 2, 0.5}, float64);
    for (const bool composed : {false, true})
        for (const bool create_graph : {false, true})
            for (const Reduction r : {Reduction::mean, Reduction::sum, Reduction::none})
                for (const CrossEntropyOptions& options :
                     {CrossEntropyOptions{.reduction = r},
                      {.weight = weight, .reduction = r},
                      {.weight = weight, .label_smoothing = 0.3, .reduction = r}})
                    for (const double poison : {double(NAN), inf, -inf}) {
                        CAPTURE(composed, create_graph, options.label_smoothing, poison);
                        const Plain path(Plain::operations, composed);
                        Tensor logits = clean.clone();
                        logits.slice(0, 1, 2).fill_(poison);
                        logits.slice(0, 3, 4).slice(1, 0, 1).fill_(poison);
                        const Computed found = computed(logits, targets, options, create_graph);
                        CHECK(found == computed(clean, targets, options, create_graph));
                        CHECK(found.gradient[3] == 0);  // the ignored row has no gradient
                        CHECK(found.gradient[9] == 0);
                        const Computed none = computed(logits, full({4}, -100, int64), options, create_graph);
                        if (r != Reduction::mean || !options.weight.defined())
                            CHECK(none.loss == Values(none.loss.size(), 0));
                        CHECK(none.gradient == Values(12, 0));
                    }
}

TEST_CASE("losses of nothing", "[losses]") {
    const Tensor none = zeros({0, 3}), ids = zeros({0}, int64);
    CHECK(cross_entropy(none, ids, {.reduction = Reduction::none}).shape() == Shape{0});
    CHECK(cross_entropy(none, ids, {.reduction = Reduction::sum}).item() == 0);
    CHECK(nll_loss(none, ids, {}, -100, Reduction::none).shape() == Shape{0});
    CHECK(mse_loss(none, none, Reduction::sum).item() == 0);
    CHECK(kl_div(none, none, Reduction::none).shape() == Shape{0, 3});
}

TEST_CASE("no logarithm of binary_cross_entropy is below -100, and there it has no gradient", "[losses]") {
    const Tensor p = leaf({0, 1, 0, 1, 1e-50}), t = tensor({1, 0, 0, 1, 1}, float64);
    const Tensor each = binary_cross_entropy(p, t, Reduction::none);
    CHECK(each.detach().to_vector<double>() == Values{100, 100, 0, 0, 100});
    CHECK(gradient(each, p) == Values{0, 0, 1, -1, 0});
    // A small p keeps its digits.
    CHECK(binary_cross_entropy(tensor({1e-12}, float64), zeros({1}, float64)).item() == Approx(1e-12));
}

TEST_CASE("smooth_l1_loss is l1_loss for a beta of 0, and huber_loss divided by beta otherwise", "[losses]") {
    const Tensor a = leaf({0, 1, -3, inf}), b = zeros({4}, float64);
    CHECK(smooth_l1_loss(a, b, 0, Reduction::none).detach().to_vector<double>() == Values{0, 1, 3, inf});
    CHECK(smooth_l1_loss(a, b, 2, Reduction::none).detach().to_vector<double>() == Values{0, 0.25, 2, inf});
    CHECK(gradient(smooth_l1_loss(a, b, 2, Reduction::none), a) == Values{0, 0.5, -1, 1});
    CHECK(smooth_l1_loss(a, b, 1).item() == smooth_l1_loss(a, b).item());
    // The square of a small beta is not taken.
    CHECK(smooth_l1_loss(tensor({1.0}), tensor({0.0}), 1e-30).item() == 1);
}

TEST_CASE("of elements that scatter puts in one place the last counts, and takes the gradient", "[ops]") {
    const Tensor x = leaf({1, 2, 3}), source = leaf({10, 20, 30});
    const Tensor y = scatter(x, 0, tensor({1, -1, 1}, int64), source);
    CHECK(y.detach().to_vector<double>() == Values{1, 30, 20});
    CHECK(gradient(y * y, x) == Values{2, 0, 0});
    CHECK(gradient(y * y, source) == Values{0, 40, 60});
    CHECK(x.detach().to_vector<double>() == Values{1, 2, 3});
    const Tensor truths = scatter(zeros({3}, boolean), 0, tensor({2}, int64), 1);
    CHECK(truths.to_vector<bool>() == std::vector<bool>{false, false, true});
    CHECK(scatter(zeros({0, 3}), 0, zeros({0, 3}, int64), 1).shape() == Shape{0, 3});
}

TEST_CASE("unique counts each NaN, takes truths, and finds x again", "[ops]") {
    const UniqueResult found = unique(tensor({NAN, 2, -inf, 2, NAN, -0.0, 0}));
    CHECK(found.values.shape() == Shape{5});
    CHECK(found.values.to_vector<float>()[2] == 2);
    CHECK(found.counts.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 2, 2, 1, 1});
    const UniqueResult truths = unique(tensor({true, true}));
    CHECK(truths.values.to_vector<bool>() == std::vector<bool>{true});
    const Tensor ids = randint(-9, 9, {40, 5}, default_rng());
    const UniqueResult of_ids = unique(ids);
    CHECK(all(of_ids.values[of_ids.inverse] == ids));
    CHECK(sum(of_ids.counts).item() == 200);
    const UniqueResult none = unique(zeros({0, 2}));
    CHECK(none.values.shape() == Shape{0});
    CHECK(none.inverse.shape() == Shape{0, 2});
    CHECK(none.counts.shape() == Shape{0});
}

TEST_CASE("logarithms of powers are exact, and hyperbolic functions have all digits", "[ops]") {
    for (int n = -40; n <= 40; ++n) {
        CHECK(log2(tensor(std::ldexp(1.0, n), float64)).item() == n);
        CHECK(exp2(tensor(double(n), float64)).item() == std::ldexp(1.0, n));
    }
    CHECK(log10(tensor(1000.0)).item() == 3);
    CHECK(sinh(tensor(1e-30, float64)).item() == 1e-30);
    CHECK(std::isfinite(cosh(tensor(710.0, float64)).item()));  // e^710 is not
}

TEST_CASE("diagonals of other axes, and beyond the matrix", "[ops]") {
    const Tensor x = arange(24).reshape({2, 3, 4});
    CHECK(all(diagonal(x, 0, 1, 2)[1] == tensor({12, 17, 22})));
    CHECK(all(diagonal(x, 1, 2, 1)[0] == tensor({4, 9})));
    CHECK(diagonal(x, 9).shape() == Shape{4, 0});
    CHECK(diagonal(x, INT64_MIN).shape() == Shape{4, 0});
    CHECK(trace(x[0]).item() == 15);
    CHECK(trace(zeros({0, 3})).item() == 0);
    CHECK(eye(2, 3).to_vector<float>() == std::vector<float>{1, 0, 0, 0, 1, 0});
    CHECK(eye(3, 2, int64).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0, 0, 1, 0, 0});
    CHECK(eye(0, 3).shape() == Shape{0, 3});
}

TEST_CASE("vstack and hstack of scalars and vectors", "[ops]") {
    CHECK(vstack({tensor(1.0), tensor({2.0})}).shape() == Shape{2, 1});
    CHECK(vstack({ones({3}), ones({2, 3})}).shape() == Shape{3, 3});
    CHECK(hstack({tensor(1.0), ones({2})}).shape() == Shape{3});
    CHECK(hstack({ones({2, 1, 5}), ones({2, 3, 5})}).shape() == Shape{2, 4, 5});
    CHECK(tensordot(zeros({2, 0}), zeros({0, 3}), 1).shape() == Shape{2, 3});
    CHECK(tensordot(ones({2, 3}), ones({2, 3})).item() == 6);
    CHECK(repeat_interleave(ones({2, 3}), 0, 1).shape() == Shape{2, 0});
    CHECK(repeat_interleave(ones({}), 3).shape() == Shape{3});
    CHECK(repeat_interleave(tensor({true, false}), tensor({1, 2})).to_vector<bool>() ==
          std::vector<bool>{true, false, false});
}

TEST_CASE("isclose says where, allclose whether everywhere", "[ops]") {
    const Tensor a = tensor({1, NAN, inf, inf, 5}, float64), b = tensor({1.000001, NAN, inf, -inf, 6}, float64);
    CHECK(isclose(a, b).to_vector<bool>() == std::vector<bool>{true, false, true, false, false});
    CHECK(isclose(a, b, 1e-5, 1e-8, true).to_vector<bool>() ==
          std::vector<bool>{true, true, true, false, false});
    CHECK(isclose(tensor({1, 2}), tensor({1, 3})).to_vector<bool>() == std::vector<bool>{true, false});
}
