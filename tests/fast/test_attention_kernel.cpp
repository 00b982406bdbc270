// The attention kernel with everything on, dropout, a bias that takes a gradient and weights, against the same
// in small operations.
#include <cmath>

#include "catch.h"
#include "weft/weft.h"

using namespace weft;

namespace {

struct Case {
    std::int64_t B, H, G, T, S;
    Shape bias = {};  // none if it is empty and has_bias is not set
    bool has_bias = false, causal = false;
    double dropout = 0;
};

// Everything that attention gives, by one route: y, the weights, and the gradients of q, k, v and the bias for
// a loss of y, or of y and the weights.
std::vector<Tensor> everything(const Case& c, bool composed, bool wants_weights, bool uses_weights = false) {
    const Plain route(Plain::operations, composed);
    Rng rng(7), drops(11);
    std::vector<Tensor> leaves{randn({c.B, c.H, c.T, 5}, rng, float64), randn({c.B, c.G, c.S, 5}, rng, float64),
                               randn({c.B, c.G, c.S, 3}, rng, float64)};
    if (c.has_bias) leaves.push_back(randn(c.bias, rng, float64));
    for (Tensor& x : leaves) x.requires_grad_();
    AttentionOptions options{.dropout = c.dropout, .rng = &drops};
    if (c.causal) options.mask = Mask::causal();
    if (c.has_bias) options.bias = leaves[3];
    const Tensor dy = randn({c.B, c.H, c.T, 3}, rng, float64), dw = randn({c.B, c.H, c.T, c.S}, rng, float64);
    std::vector<Tensor> found;
    if (wants_weights) {
        const AttentionResult r =
            scaled_dot_product_attention_with_weights(leaves[0], leaves[1], leaves[2], options);
        found = {r.output.detach(), r.weights.detach()};
        const Tensor loss = uses_weights ? sum(r.output * dy) + sum(r.weights * dw) : sum(r.output * dy);
        for (const Tensor& g : grad({loss}, leaves)) found.push_back(g);
    } else {
        const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], options);
        found = {y.detach()};
        for (const Tensor& g : grad({sum(y * dy)}, leaves)) found.push_back(g);
    }
    found.push_back(full({}, static_cast<double>(drops.state().position), float64));
    return found;
}

double largest_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        REQUIRE(a[i].shape() == b[i].shape());
        largest = std::max(largest, max(abs(a[i] - b[i])).item());
    }
    return largest;
}

}  // namespace

TEST_CASE("the kernel with dropout, a bias and weights equals the small operations", "[attention][kernel]") {
    const std::vector<Case> cases{
        {2, 4, 2, 9, 9, {}, false, true, 0.3},
        {1, 2, 2, 150, 150, {}, false, true, 0.1},
        {2, 1, 1, 130, 301, {}, false, false, 0.5},
        {1, 1, 1, 70, 1201, {}, false, true, 0.2},  // several tiles of keys
        {2, 4, 2, 7, 9, {2, 4, 7, 9}, true, false, 0},
        {2, 4, 2, 7, 9, {1, 4, 7, 9}, true, true, 0.3},
        {3, 4, 2, 7, 9, {4, 7, 9}, true, false, 0},
        {3, 4, 1, 7, 9, {3, 1, 7, 9}, true, true, 0.1},
        {3, 2, 2, 7, 9, {7, 9}, true, false, 0},
        {3, 2, 2, 7, 9, {3, 2, 1, 9}, true, false, 0.2},
        {3, 2, 2, 7, 9, {2, 7, 1}, true, false, 0.2},
        {3, 2, 2, 7, 9, {9}, true, true, 0},
        {3, 2, 2, 7, 9, {2, 1, 1}, true, true, 0.2},
        {3, 2, 2, 7, 9, {}, true, false, 0.2},
        {1, 2, 1, 200, 600, {200, 600}, true, true, 0.1},  // several parts of queries and keys
        {1, 2, 2, 200, 600, {600}, true, true, 0},
        {1, 2, 2, 200, 600, {200, 1}, true, false, 0},
        {1, 2, 2, 200, 600, {2, 1, 1}, true, false, 0.1},
    };
    for (std::size_t i = 0; i < cases.size(); ++i) {
        CAPTURE(i);
        for (const bool weights : {false, true}) {
            CAPTURE(weights);
            CHECK(largest_difference(everything(cases[i], false, weights),
                                     everything(cases[i], true, weights)) < 1e-12);
        }
        CHECK(largest_difference(everything(cases[i], false, true, true),
                                 everything(cases[i], true, true, true)) < 1e-12);
    }
}

TEST_CASE("the kernel drops the weights that dropout drops", "[attention][kernel]") {
    for (const std::int64_t S : {3, 64, 129, 700}) {
        Rng draws(5), same(5);
        const Tensor q = zeros({1, 2, 5, 4}), k = zeros({1, 2, S, 4}), v = zeros({1, 2, S, 4});
        const Tensor weights =
            scaled_dot_product_attention_with_weights(q, k, v, {.dropout = 0.4, .rng = &draws}).weights;
        const Tensor kept = dropout(ones({1, 2, 5, S}), 0.4, same);
        CHECK(all((weights == 0.0) == (kept == 0.0)));
        CHECK(draws.state().position == same.state().position);
        CHECK(draws.state().position == static_cast<std::uint64_t>((10 * S + 3) / 4));
        CHECK(allclose(weights, kept / static_cast<double>(S)));
    }
}

TEST_CASE("with everything on, a blocked key may hold NaN", "[attention][kernel][poison]") {
    constexpr std::int64_t T = 70, S = 600;
    for (const std::int64_t at : {std::int64_t{0}, S / 2, S - 1}) {
        CAPTURE(at);
        const Tensor hidden = arange(S) == static_cast<double>(at);
        const auto run = [&](double value) {
            Rng rng(3), drops(4);
            Tensor q = randn({T, 3}, rng);
            const Tensor k = randn({S, 3}, rng), v = randn({S, 2}, rng);
            const std::vector<Tensor> leaves{q.requires_grad_(),
                                             masked_fill(k, hidden.unsqueeze(1), value).requires_grad_(),
                                             masked_fill(v, hidden.unsqueeze(1), value).requires_grad_(),
                                             randn({T, S}, rng).requires_grad_()};
            const AttentionOptions options{.mask = Mask::blocked(hidden.expand({T, S})),
                                           .bias = leaves[3],
                                           .dropout = 0.25,
                                           .rng = &drops};
            const auto [y, weights] =
                scaled_dot_product_attention_with_weights(leaves[0], leaves[1], leaves[2], options);
            std::vector<Tensor> found = grad({sum(y * y)}, leaves);
            found.insert(found.end(), {y.detach(), weights.detach()});
            return found;
        };
        const std::vector<Tensor> clean = run(1), poisoned = run(std::nan(""));
        CHECK(largest_difference(clean, poisoned) == 0);
        CHECK(all(poisoned[3].slice(1, at, at + 1) == 0.0));
    }
}

TEST_CASE("the gradient retained at the weights is that of all that follows, fused, composed and in any rank",
          "[attention]") {
    for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 1, 3}})
        for (const double p : {0.0, 0.3}) {
            const auto found = [&](bool is_composed, bool plain) {
                const Plain mode(Plain::operations, is_composed);
                const Plain reference(Plain::primitives, plain);
                Rng rng(1);
                Shape shape = batch;
                shape.push_back(5), shape.push_back(4);
                std::vector<Tensor> qkv;
                for (int i = 0; i < 3; ++i) qkv.push_back(randn(shape, rng, float64).requires_grad_());
                AttentionResult r = scaled_dot_product_attention_with_weights(
                    qkv[0], qkv[1], qkv[2], {.mask = Mask::causal(), .dropout = p, .rng = &rng});
                r.weights.retain_grad();
                (sum(r.output * r.output) + sum(r.weights * r.weights)).backward();
                // ∂/∂W (Σ y² + Σ W²) = 2 y vᵀ + 2 W where a key is not masked
                const Tensor expected = 2 * matmul(r.output, qkv[2].transpose(-2, -1)) + 2 * r.weights;
                const Tensor allowed = (r.weights != 0).to(float64);
                CHECK(max(abs((r.weights.grad() - expected) * allowed)).item() < 1e-12);
                return std::vector<Tensor>{r.weights.grad() * allowed, qkv[0].grad(), qkv[1].grad(),
                                           qkv[2].grad()};
            };
            INFO("batch " << batch << ", dropout " << p);
            const auto expected = found(true, false);
            CHECK(largest_difference(found(false, false), expected) < 1e-12);
            CHECK(largest_difference(found(false, true), expected) < 1e-12);
        }
}
