// S2.09: the attention checklist on Weft's own modules, on a user's function, and on a gallery of classic bugs,
// each of which is caught by name. The switches of the bugs live here alone. B batch, T tokens, C = d_model, H
// heads, d_k = C / H.
#include "check/traced_run.h"
#include "refusal.h"
#include "source.h"
#include "weft/check/attention.h"
#include "weft/watch/trace.h"

using namespace source;

namespace {

constexpr std::int64_t B = 3, T = 5, C = 12,
                       H = 3;  // B = H: what a mask per sample is taken for one per head by

enum class Bug {
    none,
    scaled_by_d_model,
    softmax_over_queries,
    softmax_over_heads,
    mask_after_softmax,
    no_permute_before_merge,
    mask_of_the_wrong_sample,
    mask_per_head,
    cut_head,
    cut_keys,
    finite_mask,
    future_in_values,
    samples_mixed,
    unnamed_scores,
    noise
};

// Causal self-attention as a user would write it from small operations, with one bug or none.
struct UsersAttention : nn::Module {
    nn::Linear W_q, W_k, W_v, W_out;
    Bug bug;
    double blocked_score;  // a blocked score, unless the bug says another

    UsersAttention(Rng& rng, Bug bug, double blocked_score = -INFINITY)
        : Module("UsersAttention"),
          W_q(register_module("W_q", nn::Linear(C, C, rng))),
          W_k(register_module("W_k", nn::Linear(C, C, rng))),
          W_v(register_module("W_v", nn::Linear(C, C, rng))),
          W_out(register_module("W_out", nn::Linear(C, C, rng))),
          bug(bug),
          blocked_score(blocked_score) {
        to(float64);
    }

    static Tensor without_graph(const Tensor& x, std::int64_t head) {  // (B, H, T, d_k)
        return cat({x.slice(1, 0, head), x.slice(1, head, head + 1).detach(), x.slice(1, head + 1, H)}, 1);
    }

    Tensor blocked_for(const Mask& extra_mask, std::int64_t b, std::int64_t t) const {
        Tensor blocked = (Mask::causal() | extra_mask).materialize(b, H, t, t);  // (B|1, 1, T, T)
        if (bug == Bug::mask_of_the_wrong_sample) return cat({blocked.slice(0, 1, b), blocked.slice(0, 0, 1)});
        if (bug == Bug::mask_per_head && blocked.size(0) == H) return blocked.transpose(0, 1);
        return blocked;
    }

    Tensor operator()(const Tensor& x, const Mask& extra_mask) const {
        const std::int64_t b = x.size(0), t = x.size(1), d_k = C / H;
        Tensor q = nn::split_heads(W_q(x), H), k = nn::split_heads(W_k(x), H), v = nn::split_heads(W_v(x), H);
        if (bug == Bug::cut_head) v = without_graph(v, 1);
        if (bug == Bug::cut_keys) k = k.detach();
        traced("q", q), traced("k", k), traced("v", v);
        const double width = static_cast<double>(bug == Bug::scaled_by_d_model ? C : d_k);
        const Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(width);  // (B, H, T, T)
        if (bug != Bug::unnamed_scores) traced("scores", scores);
        const Tensor blocked = blocked_for(extra_mask, b, t);
        Tensor weights;
        if (bug == Bug::mask_after_softmax) {
            weights = masked_fill(softmax(scores, -1), blocked, 0);
        } else {
            const Tensor masked = traced(
                "masked scores", masked_fill(scores, blocked, bug == Bug::finite_mask ? -1e9 : blocked_score));
            weights = softmax(masked, bug == Bug::softmax_over_queries ? -2
                                      : bug == Bug::softmax_over_heads ? 1
                                                                       : -1);
        }
        traced("weights", weights);
        Tensor values = v;
        if (bug == Bug::future_in_values) values = v + flip(v, 2) * 1e-9;
        if (bug == Bug::samples_mixed) values = v + mean(v, 0, keepdim) * 1e-9;
        const Tensor heads = traced("heads", matmul(weights, values));  // (B, H, T, d_k)
        const Tensor merged = traced(
            "merged", bug == Bug::no_permute_before_merge ? heads.reshape({b, t, C}) : nn::merge_heads(heads));
        static double runs = 0;
        return W_out(merged) + (bug == Bug::noise ? ++runs * 1e-6 : 0);
    }
};

std::string shown(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

check::AttentionReport report_on(Bug bug, const Tensor& x) {
    Rng rng(2);
    const UsersAttention attention(rng, bug);
    return check::attention(
        {[&](const Tensor& in, const Mask& extra_mask) { return attention(in, extra_mask); }, H, Mask::causal(),
         attention.named_parameters()},
        x);
}

}  // namespace

TEST_CASE("S2.09 a correct attention passes every check, whoever wrote it",
          "[S2.09][source][attention checklist]") {
    Rng rng(1);
    const Tensor x = random({B, T, C});
    const auto causal = in_double(nn::CausalMultiHeadAttention(C, H, rng, {.bias = true}));
    const auto fused = in_double(nn::MultiHeadAttention(C, H, rng));
    const auto separate = in_double(nn::Attention(C, H, rng, {.bias = true, .fused = false}));
    const Mask padding = Mask::padding({3, 5, 4});
    for (const auto& report :
         {report_on(Bug::none, x), report_on(Bug::none, x[0]), check::attention(causal, x),
          check::attention(causal, x[1]), check::attention(fused, x), check::attention(fused, x, padding),
          check::attention(separate, x, Mask::causal()),
          check::attention(separate, x, Mask::causal() | padding)}) {
        INFO(report.str());
        CHECK(report.checks.size() == 18);
        CHECK(report.passed());
    }
    // Grouped heads, widths of their own, turned by position.
    const auto grouped =
        in_double(nn::Attention(16, 4, rng, {.causal = true, .num_kv_heads = 2, .rotary_base = 10000}));
    const auto own =
        in_double(nn::Attention(C, 4, rng, {.fused = false, .num_kv_heads = 2, .d_k = 6, .d_v = 4}));
    for (const auto& report : {check::attention(grouped, random({2, T, 16})), check::attention(own, x),
                               check::attention(own, x, Mask::causal())}) {
        INFO(report.str());
        CHECK(report.passed());
    }
    const nn::CausalMultiHeadAttention in_float(C, H, rng);
    const auto report = check::attention(in_float, random({2, 70, C}, 3, float32));
    INFO(report.str());
    CHECK(report.passed());
}

TEST_CASE("S2.09 each classic bug is caught by a named check, with the evidence",
          "[S2.09][source][attention checklist]") {
    struct Caught {
        Bug bug;
        const char* by;
        const char* evidence;
    };
    const Tensor x = random({B, T, C});
    for (const Caught& bug : {
             Caught{Bug::scaled_by_d_model, "scaled by sqrt(d_k)", "1/sqrt(12), where 12 is d_model"},
             {Bug::softmax_over_queries, "softmax over the last axis", "softmax over axis 2"},
             {Bug::softmax_over_queries, "weights sum to 1", "the farthest from 1"},
             {Bug::softmax_over_heads, "softmax over the last axis", "softmax over axis 1"},
             {Bug::mask_after_softmax, "masked before softmax", "no step is named \"masked scores\""},
             {Bug::mask_after_softmax, "visible weights sum to 1", "the farthest from 1"},
             {Bug::no_permute_before_merge, "heads side by side", "reshaped without the permute"},
             {Bug::mask_of_the_wrong_sample, "each sample has its own mask", "a blocked key gets"},
             {Bug::mask_per_head, "each sample has its own mask", "a blocked key gets"},
             {Bug::cut_head, "gradient reaches every head",
              "W_v.weight has no gradient in rows 4 to 7 (head 1)"},
             {Bug::cut_keys, "gradient reaches every head", "W_k.weight has no gradient"},
             {Bug::finite_mask, "a fully masked row is 0", "up to 0.2, not 0"},
             {Bug::future_in_values, "blocked tokens have no influence", "which may not see it"},
             {Bug::samples_mixed, "blocked tokens have no influence", "of sample 1"},
             {Bug::unnamed_scores, "scaled by sqrt(d_k)", "traced(\"scores\", …)"},
             {Bug::noise, "same result twice", "differ"},
         }) {
        const auto report = report_on(bug.bug, x);
        INFO(bug.by << "\n" << report.str());
        CHECK_FALSE(report.passed());
        CHECK(report[bug.by].failed());
        CHECK(contains(report[bug.by].evidence, bug.evidence));
    }
}

TEST_CASE("S2.09 a bug fails its own checks and leaves the others as they are",
          "[S2.09][source][attention checklist]") {
    const auto failed = [](Bug bug) {
        std::string names;
        for (const auto& check : report_on(bug, random({B, T, C})).checks)
            if (check.failed()) names += (names.empty() ? "" : ", ") + check.name;
        return names;
    };
    CHECK(failed(Bug::none) == "");
    CHECK(failed(Bug::scaled_by_d_model) == "scaled by sqrt(d_k)");
    CHECK(failed(Bug::no_permute_before_merge) ==
          "heads side by side, blocked tokens have no influence, a fully masked row is 0");
    CHECK(failed(Bug::cut_head) == "gradient reaches every head");
    CHECK(failed(Bug::finite_mask) == "a fully masked row is 0");
    CHECK(failed(Bug::mask_per_head) == "each sample has its own mask");
    CHECK(failed(Bug::noise) == "same result twice, blocked tokens have no influence");
}

TEST_CASE("S2.06 the scale is checked also where d_model is large: 768 in 12 heads",
          "[S2.06][S2.09][source][attention checklist]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(768, 12, rng, {.max_seq_len = 8});
    const auto report = check::attention(attention, random({2, 4, 768}, 2, float32));
    CHECK(report["scaled by sqrt(d_k)"].passed());
    CHECK(contains(report["scaled by sqrt(d_k)"].evidence, "0.125 = 1/sqrt(64)"));
}

TEST_CASE("S2.09 the report prints shapes, a sample row and what decided",
          "[S2.09][source][attention checklist]") {
    const auto report = report_on(Bug::scaled_by_d_model, random({B, T, C}));
    CHECK(report["shapes of q, k, v"].evidence == "q (3, 3, 5, 4), k (3, 3, 5, 4), v (3, 3, 5, 4)");
    CHECK(report["shape of scores"].evidence == "(3, 3, 5, 5)");
    CHECK(report["shape of merged"].evidence == "(3, 5, 12)");
    const std::string text = report.str();
    CHECK(contains(text, "passed  shape of scores"));
    CHECK(contains(text, "FAILED  scaled by sqrt(d_k)"));
    CHECK(contains(text, "d_k is 4, so it should be 0.5"));
    CHECK(contains(text, "1 of 18 checks failed"));
    CHECK(contains(report_on(Bug::none, random({B, T, C})).str(), "all 18 checks passed"));

    // The sample row is the run's own.
    Rng rng(1);
    const auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng));
    const Tensor x = random({B, T, C}), row = attention.with_weights(x).weights[0][0][T - 1];
    std::string expected;
    for (const double weight : row.to_vector<double>()) {
        char number[32];
        std::snprintf(number, sizeof number, " %.3g", weight);
        expected += number;
    }
    CHECK(check::attention(attention, x)["sample row"].evidence == "last token, head 0:" + expected);
    CHECK_THROWS_AS(report["no such check"], ValueError);
    for (const std::int64_t n : {8, 9}) {  // eight of its numbers are told
        const std::string told = check::attention(attention, random({1, n, C}))["sample row"].evidence;
        CHECK(std::count(told.begin(), told.end(), ' ') == 3 + 8 + (n > 8));
        CHECK(told.ends_with(" …") == (n > 8));
    }
}

TEST_CASE("S2.09 a function without parameters and without a mask argument is checked as far as it goes",
          "[S2.09][source][attention checklist]") {
    const auto plain = [](const Tensor& x,
                          const Mask&) {  // q = k = v = x, one head, every token sees every token
        return traced("merged",
                      scaled_dot_product_attention(x.unsqueeze(1), x.unsqueeze(1), x.unsqueeze(1)).squeeze(1));
    };
    Tensor x = random({2, T, 4});
    const auto outside = check::attention({plain, 1, {}, {}, false}, x);
    CHECK(outside["gradient reaches every head"].failed());  // nothing here requires a gradient
    CHECK(contains(outside.str(), "1 of 13 checks failed, 5 not applicable\n"));
    const Tensor scale = ones({}, float64).requires_grad_();
    const auto inside = check::attention(
        {[&](const Tensor& in, const Mask& extra_mask) { return plain(in * scale, extra_mask); },
         1,
         {},
         {},
         false},
        x);
    INFO(inside.str());
    CHECK(inside.passed());
    CHECK(inside["gradient reaches every head"].evidence == "q, k and v in each of 1 heads");
}

TEST_CASE(
    "a check that has nothing to examine is not applicable, with the reason, and neither passed nor failed",
    "[attention checklist]") {
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(C, H, rng));
    const auto without_mask = [&](const Tensor& x, const Mask&) { return attention(x); };
    const auto not_applicable = [](const check::AttentionReport& report) {
        std::string names;
        for (const auto& check : report.checks)
            if (check.verdict == check::Verdict::not_applicable) {
                CHECK_FALSE(check.passed());
                CHECK_FALSE(check.failed());
                names += (names.empty() ? "" : ", ") + check.name + ": " + check.evidence;
            }
        return names;
    };
    const std::string of_blocked =
        "masked before softmax: nothing is blocked, blocked weights are 0: nothing is blocked, visible weights "
        "sum to 1: nothing is blocked";
    const std::string of_masks =
        ", each sample has its own mask: it takes no mask, a fully masked row is 0: it takes no mask";
    const Tensor x = random({B, T, C});

    const auto several = check::attention({without_mask, H, {}, attention.named_parameters(), false}, x);
    CHECK(several.checks.size() == 18);
    CHECK(several.passed());
    CHECK(not_applicable(several) == of_blocked + of_masks);
    CHECK(contains(several.str(), "n/a     masked before softmax             nothing is blocked\n"));
    CHECK(several.str().ends_with("all 13 checks passed, 5 not applicable\n"));
    CHECK(several["blocked tokens have no influence"].passed());  // tokens of other samples

    const auto single = check::attention({without_mask, H, {}, attention.named_parameters(), false}, x[0]);
    CHECK(not_applicable(single) ==
          of_blocked +
              ", blocked tokens have no influence: every token may see every token, and there is one sample" +
              of_masks);
    CHECK(single.str().ends_with("all 12 checks passed, 6 not applicable\n"));

    CHECK(not_applicable(check::attention(attention, x)) == of_blocked);  // it takes masks, and was given none
    CHECK(not_applicable(check::attention(attention, x, Mask::causal())).empty());
    const auto causal = [&](const Tensor& in, const Mask&) { return attention(in, Mask::causal()); };
    CHECK(not_applicable(check::attention({causal, H, Mask::causal(), {}, false}, x)) == of_masks.substr(2));
}

TEST_CASE("a blocked score that is 1000 below the visible ones is low enough, and a larger one is not",
          "[attention checklist]") {
    const auto check_of = [](double blocked_score) {
        Rng rng(2);
        const UsersAttention attention(rng, Bug::none, blocked_score);
        {
            const NoGrad off;
            for (Tensor parameter : attention.W_q.parameters()) parameter.zero_();  // every visible score is 0
        }
        const auto report = check::attention(
            {[&](const Tensor& in, const Mask& extra_mask) { return attention(in, extra_mask); }, H,
             Mask::causal(), attention.named_parameters()},
            random({B, T, C}));
        return report["masked before softmax"];
    };
    CHECK(check_of(-1000).passed());
    CHECK(check_of(-1000).evidence == "the largest blocked score is -1000, the smallest visible one 0");
    CHECK(check_of(-999.5).failed());
}

TEST_CASE("the checklist's evidence gives the numbers as they are", "[attention checklist]") {
    const Tensor x = random({B, T, C});
    const auto good = report_on(Bug::none, x);
    const auto evidence = [&](const char* name) { return good[name].evidence; };
    Rng other(2);
    const UsersAttention moved(other, Bug::none);
    const auto apart_untraced = [&](const Tensor& in, const Mask& mask) {
        return moved(in, mask) + (is_plain(Plain::operations) ? 0 : 0.123456);
    };
    CHECK(check::attention({apart_untraced, H, Mask::causal()}, x)["same result twice"].evidence ==
          "two traced runs are equal, and an untraced one differs by 0.123");
    CHECK(evidence("scaled by sqrt(d_k)") == "scores = 0.5 = 1/sqrt(4) times q k^T");
    CHECK(evidence("blocked weights are 0") == "90 blocked weights, all exactly 0");    // B·H·T(T − 1)/2
    CHECK(contains(evidence("weights sum to 1"), "45 rows; the farthest from 1 is "));  // B·H·T
    CHECK(evidence("gradient reaches every head") == "8 parameters, 4 of them matrices, in every block of 4");
    // Each of T edited tokens j leaves all B·T outputs but the T − j that may see it.
    CHECK(evidence("blocked tokens have no influence") ==
          "5 tokens edited, 60 outputs that may not see them unchanged to the last bit");
    CHECK(evidence("each sample has its own mask") == "3 samples, sample s hiding key s: each hides its own");
    CHECK(evidence("a fully masked row is 0") ==
          "token 4 blinded: weights, heads and merged 0, gradients finite");
    CHECK(evidence("shapes of q, k, v") == "q (3, 3, 5, 4), k (3, 3, 5, 4), v (3, 3, 5, 4)");

    // The steps anew, by hand.
    Rng rng(2);
    const UsersAttention attention(rng, Bug::none);
    const Tensor q = nn::split_heads(attention.W_q(x), H), k = nn::split_heads(attention.W_k(x), H);
    const Tensor scores = (matmul(q, k.transpose(-2, -1)) / 2.0).detach(),
                 blocked = Mask::causal().materialize(B, H, T, T).expand({B, H, T, T});
    double least = INFINITY, worst = 0, worst_sum = 1;
    std::string where;
    const Tensor shares = softmax(scores, -1);
    for (std::int64_t b = 0; b < B; ++b)
        for (std::int64_t h = 0; h < H; ++h)
            for (std::int64_t i = 0; i < T; ++i) {
                double visible = 0;  // sum that remains where the mask comes after softmax
                for (std::int64_t j = 0; j <= i; ++j) {
                    least = std::min(least, scores.at({b, h, i, j}));
                    visible += shares.at({b, h, i, j});
                }
                if (std::abs(visible - 1) > worst)
                    worst = std::abs(visible - 1), worst_sum = visible, where = Shape{b, h, i}.str();
            }
    CHECK(evidence("masked before softmax") ==
          "the largest blocked score is -inf, the smallest visible one " + shown(least, 4));
    const auto late = report_on(Bug::mask_after_softmax, x)["weights sum to 1"].evidence;
    CHECK(contains(late, "45 rows; the farthest from 1 is "));
    CHECK(contains(late, shown(worst_sum, 8) + " at " + where));
    // 1/√12 where 1/√4 is right: the factor, and the largest error.
    const double apart =
        max(abs(scores * (2 / std::sqrt(12.0)) - scores) / maximum(abs(scores), ones_like(scores))).item();
    CHECK(report_on(Bug::scaled_by_d_model, x)["scaled by sqrt(d_k)"].evidence ==
          "scores = 0.2887 = 1/sqrt(12), where 12 is d_model, times q k^T; d_k is 4, so it should be 0.5; the "
          "scores are "
          "off by up to " +
              shown(apart, 3));
}

TEST_CASE("the checklist's distance sees every element, NaN and infinite ones too", "[attention checklist]") {
    const Tensor a = tensor({-3, 0.5, 8}, float64);
    for (std::int64_t i = 0; i < 3; ++i) {
        Tensor b = a.clone();
        b[i].add_(full({}, 0.25, float64));
        CHECK(check::distance(a, b) == Approx(0.25 / std::max(1.0, std::abs(b.at({i})))));
        for (const double wrong : {double(NAN), double(INFINITY)}) {
            b[i].fill_(wrong);
            CHECK(check::distance(a, b) == INFINITY);
            CHECK(check::distance(b, a) == INFINITY);
        }
        CHECK(check::largest(b) == INFINITY);
    }
    CHECK(check::distance(a, a) == 0);
    CHECK(check::largest(a) == 8);
    CHECK(check::largest(zeros({0})) == 0);
}

TEST_CASE("S2.09 the checklist touches no gradient, mode or generator of the module",
          "[S2.09][source][attention checklist]") {
    Rng rng(1);
    auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng, {.dropout = 0.5}));
    const auto before = attention.named_generators()[0].second->state();
    const auto report = check::attention(attention, random({B, T, C}));
    INFO(report.str());
    CHECK(report.passed());
    CHECK(attention.training());
    CHECK(attention.named_generators()[0].second->state().position == before.position);
    for (const Tensor& parameter : attention.parameters()) CHECK_FALSE(parameter.grad().defined());
}

TEST_CASE("S2.09 what cannot be checked is refused, and an exception is evidence",
          "[S2.09][source][attention checklist]") {
    Rng rng(1);
    const nn::MultiHeadAttention attention(C, H, rng);
    for (const Shape& wrong : {Shape{C}, Shape{1, C}, Shape{0, T, C}, Shape{1, 1, T, C}})
        refuses<ValueError>(wrong.str(), [&] { check::attention(attention, zeros(wrong)); });
    const auto report = check::attention(attention, zeros({B, T, C + 1}));
    CHECK_FALSE(report.passed());
    CHECK(contains(report.str(), "(3, 5, 13)"));
}
