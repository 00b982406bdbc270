// Mixture of experts: values, gradients, work, the balancing loss and what is refused.
// B batch, T tokens, C = d_model, E experts, F = dim_feedforward.
#include "refusal.h"
#include "source.h"
#include "weft/weft.h"

using namespace weft;
using source::difference;
using source::in_double;

namespace {

constexpr std::int64_t B = 2, T = 12, C = 6, E = 5, F = 7;

Tensor input() { return source::random({B, T, C}, 3); }

// Every expert computes every token, and a gate of 0 hides it where it was not chosen.
template <class M>
Tensor dense(const M& moe, const Tensor& x) {
    const Tensor p = softmax(matmul(x, moe.gate.weight.T()), -1);                // (B, T, E)
    const Tensor kth = topk(p.detach(), moe.top_k).values.min(-1, true).values;  // (B, T, 1)
    Tensor g = where(p.detach() >= kth, p, 0.0);                                 // (B, T, E)
    if (moe.norm_topk_prob) g = g / sum(g, -1, true);
    Tensor y = zeros({B, T, C}, float64);
    for (std::int64_t e = 0; e < E; ++e)
        y = y + moe.experts[static_cast<std::size_t>(e)](x) * g.slice(-1, e, e + 1);
    return y;
}

template <class M>
void check_against_dense(const M& moe) {
    INFO("top_k " << moe.top_k << ", norm_topk_prob " << moe.norm_topk_prob);
    std::vector<Tensor> leaves = moe.parameters();
    leaves.push_back(input().requires_grad_());
    const Tensor x = leaves.back(), sparse = moe(x), all = dense(moe, x),
                 weights = source::random({B, T, C}, 9);
    CHECK(difference(sparse, all) < 1e-12);
    const std::vector<Tensor> ours = grad({sum(sparse * weights)}, leaves),
                              theirs = grad({sum(all * weights)}, leaves);
    for (std::size_t i = 0; i < leaves.size(); ++i) CHECK(difference(ours[i], theirs[i]) < 1e-12);
}

// The experts that tokens of one-hot columns choose first: token i prefers expert wishes[i].
template <class M>
Tensor tokens_that_choose(M& moe, const std::vector<std::int64_t>& wishes) {
    const NoGrad off;
    Tensor gate = moe.gate.weight;
    gate.copy_(eye(C, float64).slice(0, 0, E) * 3.0);
    return one_hot(tensor(wishes), C).to(float64);
}

}  // namespace

TEST_CASE("a mixture of experts equals all experts with gates of 0, values and gradients", "[nn][moe]") {
    Rng rng(1);
    for (const std::int64_t top_k : {1, 2, 5})
        for (const bool norm : {true, false}) {
            const nn::MixtureOfExpertsOptions options{
                .num_experts = E, .top_k = top_k, .dim_feedforward = F, .bias = true, .norm_topk_prob = norm};
            check_against_dense(in_double(nn::MixtureOfExperts(C, rng, options)));
            check_against_dense(in_double(nn::Mixture<nn::MLP>(C, rng, options)));
        }
}

TEST_CASE("an expert computes the tokens that chose it and no others", "[nn][moe]") {
    Rng rng(1);
    for (const std::int64_t top_k : {1, 2, 5}) {
        const nn::MixtureOfExperts moe(C, rng, {.num_experts = E, .top_k = top_k, .dim_feedforward = F});
        const Tensor x = input().to(float32);
        CHECK(source::multiply_adds([&] { (void)moe(x); }) == B * T * (C * E + top_k * 3 * C * F));
    }
    auto moe = in_double(nn::MixtureOfExperts(C, rng, {.num_experts = E, .top_k = 1, .norm_topk_prob = false}));
    const Tensor x = tokens_that_choose(moe, {0, 3, 3, 0});
    sum(pow(moe(x), 2)).backward();
    for (std::size_t e = 0; e < E; ++e) {
        INFO("expert " << e);
        CHECK((max(abs(moe.experts[e].up_proj.weight.grad())).item() > 0) == (e == 0 || e == 3));
    }
}

TEST_CASE("the load-balancing loss is E Σ f P: 1 when balanced, more when experts are preferred", "[nn][moe]") {
    Rng rng(1);
    auto moe = in_double(nn::Mixture<nn::MLP>(C, rng, {.num_experts = E, .top_k = 1, .norm_topk_prob = false}));
    const auto balanced = moe.with_routing(tokens_that_choose(moe, {0, 1, 2, 3, 4}));
    CHECK(difference(balanced.tokens_per_expert, full({E}, 0.2, float64)) < 1e-15);
    CHECK(balanced.load_balancing_loss.item() == Approx(1));
    const double p = std::exp(3) / (std::exp(3) + 4), q = (1 - p) / 4;  // of the wish, and of the other four
    const auto uneven = moe.with_routing(tokens_that_choose(moe, {1, 1, 1, 2}));
    CHECK(difference(uneven.tokens_per_expert, tensor({0, 0.75, 0.25, 0, 0}, float64)) < 1e-15);
    CHECK(uneven.load_balancing_loss.item() ==
          Approx(5 * (0.75 * (0.75 * p + 0.25 * q) + 0.25 * (0.75 * q + 0.25 * p))).epsilon(1e-12));

    // The gradient is that of the mean probabilities, with f held constant, and lowers the probability of 1.
    const Tensor x = tokens_that_choose(moe, {1, 1, 1, 2}), gate = moe.gate.weight,
                 f = tensor({0, 0.75, 0.25, 0, 0}, float64);
    const Tensor by_hand = grad({sum(f * mean(softmax(matmul(x, gate.T()), -1), 0)) * 5.0}, {gate})[0];
    const Tensor found = grad({moe.with_routing(x).load_balancing_loss}, {gate})[0];
    CHECK(difference(found, by_hand) < 1e-15);
    CHECK(found[1][1].item() > 0);

    // With two choices for each token, they are counted alike.
    const auto two = in_double(nn::MixtureOfExperts(C, rng, {.num_experts = E, .top_k = 2}));
    const Tensor probs = softmax(two.gate(input()), -1).reshape({B * T, E}), chosen = topk(probs, 2).indices;
    const Tensor share = mean(one_hot(chosen, E).to(float64).reshape({-1, E}), 0);
    const auto routed = two.with_routing(input());
    CHECK(difference(routed.tokens_per_expert, share) < 1e-15);
    CHECK(difference(routed.load_balancing_loss, sum(share * mean(probs, 0)) * 5.0) < 1e-14);
}

TEST_CASE("one gate divided by its sum is 1, and the router learns nothing from the output", "[nn][moe]") {
    Rng rng(1);
    for (const bool norm : {true, false}) {
        const auto moe =
            in_double(nn::MixtureOfExperts(C, rng, {.num_experts = E, .top_k = 1, .norm_topk_prob = norm}));
        sum(pow(moe(input()), 2)).backward();
        CHECK((max(abs(moe.gate.weight.grad())).item() < 1e-15) == norm);
    }
}

TEST_CASE("a mixture refuses tokens that do not fit, and takes none", "[nn][moe]") {
    Rng rng(1);
    const nn::MixtureOfExperts moe(C, rng);
    // 4 · 3 numbers would make two tokens of 6
    refuses<ShapeError>("MixtureOfExperts.gate: linear: ", [&] { return moe(ones({4, 3})); });
    CHECK(moe(ones({0, C})).shape() == Shape{0, C});
    CHECK(moe(ones({C})).shape() == Shape{C});
    CHECK(moe.state_dict()[0].first == "gate.weight");
    CHECK(moe.state_dict()[4].first == "experts.1.gate_proj.weight");
}
