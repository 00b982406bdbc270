// Statements S2.02 – S2.08, S2.11 and S2.12: one tensor story from X to Y.
// B batch, T tokens, D = d_model, H heads, d_head = D / H.
#include "catch.h"
#include "source.h"

using namespace source;

namespace {

constexpr std::int64_t B = 2, T = 5, D = 12, H = 3, d_head = 4;

Tensor causal_mask(std::int64_t n) { return Mask::causal().materialize(1, 1, n, n).reshape({n, n}); }

// The chapter's core function: four separate weights (D, D), result and weights.
AttentionResult core(const Tensor& X, const Tensor& W_Q, const Tensor& W_K, const Tensor& W_V,
                     const Tensor& W_O) {
    const Tensor Q = nn::split_heads(matmul(X, W_Q), H), K = nn::split_heads(matmul(X, W_K), H),
                 V = nn::split_heads(matmul(X, W_V), H);  // (B, H, T, d_head)
    Tensor scores = matmul(Q, K.permute({0, 1, 3, 2})) / std::sqrt(static_cast<double>(D / H));
    const Tensor mask = causal_mask(X.size(1)).unsqueeze(0).unsqueeze(0);  // (1, 1, T, T)
    scores = where(mask, full({}, -1e9, X.dtype()), scores);
    const Tensor weights = softmax(scores, -1);
    return {matmul(nn::merge_heads(matmul(weights, V)), W_O), weights};
}

}  // namespace

TEST_CASE("S2.02 softmax subtracts the row's maximum: logits of ±1e4 stay finite", "[S2.02][source]") {
    for (const DType dtype : {float32, float64}) {
        Tensor x = tensor({{1e4, 1e4 - 1, -1e4}, {-1e4, -1e4, -1e4 - 1}}, dtype).requires_grad_();
        const Tensor y = softmax(x, -1);
        CHECK(printed(y[0], 4) == "0.7311 0.2689 0.0000");  // e⁰ and e⁻¹: the large part has gone
        CHECK(printed(y[1], 4) == "0.4223 0.4223 0.1554");
        sum(y * y).backward();
        CHECK(all(isfinite(x.grad())));
        const Tensor naive = exp(x.detach()) / sum(exp(x.detach()), -1, keepdim);  // without the subtraction
        CHECK(has_nan(naive));
    }
}

TEST_CASE("S2.02 attention with logits of ±1e4 is finite, forward and backward", "[S2.02][source]") {
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        Tensor q = tensor({{100.0, 0}, {-100, 0}, {0, 1}}).requires_grad_(),
               k = tensor({{100.0, 1}, {-100, 2}});
        const Tensor v = tensor({{1.0}, {2}});  // scores 1e4 and −1e4; −1e4 and 1e4; 1 and 2
        const Tensor y = scaled_dot_product_attention(q, k, v, {.scale = 1});
        CHECK(printed(y.reshape({3}), 4) == "1.0000 2.0000 1.7311");
        sum(y).backward();
        CHECK(all(isfinite(q.grad())));
        CHECK(q.grad().at({2, 0}) != 0);
    }
}

TEST_CASE("S2.03 causal_mask(T) is bool, triu(k = 1), true = blocked", "[S2.03][source]") {
    for (std::int64_t n = 1; n <= 6; ++n) {
        const Tensor mask = causal_mask(n);
        CHECK(mask.dtype() == boolean);
        CHECK(all(mask == (triu(ones({n, n}), 1) != 0)));
        CHECK(sum(mask.to(float32)).item() == static_cast<double>(n * (n - 1) / 2));
    }
    // That is what attention masks with: the mask of its run, and of the causal module, which has it as a
    // buffer.
    Rng rng(1);
    const nn::MultiHeadAttention attention(D, H, rng);
    nn::Attention with_buffer(D, H, rng, {.causal = true, .max_seq_len = T});
    const Tensor X = random({B, T, D}, 2, float32), mask = causal_mask(T);
    const Plain readable(Plain::operations);
    for (int run = 0; run < 3; ++run) {
        const Trace trace;
        (void)(run == 0 ? attention(X, Mask::causal()) : with_buffer(X));
        CHECK(all(with_buffer.mask() == mask));
        if (run == 1) with_buffer.set_mask(mask);  // before the last run
        const Tensor used = named(trace, "mask");
        CHECK(used.dtype() == boolean);
        CHECK(used.shape() == Shape{1, 1, T, T});
        CHECK(all(used[0][0] == mask));
        CHECK(all((named(trace, "masked scores") == -INFINITY) == mask));  // true is blocked
    }
    // The first token sees itself alone.
    const Tensor one = eye(3),
                 y = scaled_dot_product_attention(one, one, one, {.mask = Mask::blocked(causal_mask(3))});
    CHECK(printed(y[0], 1) == "1.0 0.0 0.0");
}

TEST_CASE("S2.04 a blocked score is replaced by −1e9, not lowered by it", "[S2.04][source]") {
    const Tensor scores = tensor({1, 2, 3e9}, float64), blocked = tensor({{0, 0, 1}}, boolean);
    const check::MaskTable table = check::mask_oracle(scores, Mask::blocked(blocked), float64);
    const auto& replaced = table[check::MaskRule::replace];
    CHECK(replaced.masked.to_vector<double>() == std::vector<double>{1, 2, -1e9});
    CHECK(printed(replaced.weights[0], 4) == "0.2689 0.7311 0.0000");
    const auto& lowered = table[check::MaskRule::add];  // 2e9 is still the largest by far
    CHECK(lowered.masked.to_vector<double>() == std::vector<double>{1, 2, 2e9});
    CHECK(printed(lowered.weights[0], 4) == "0.0000 0.0000 1.0000");
    CHECK(same_bits(where(blocked, full({}, -1e9, float64), scores), replaced.masked));

    // Attention itself replaces too: q k is these scores, in its trace and in the fused kernel.
    const Tensor q = tensor({{1.0}}).to(float64), k = scores.reshape({3, 1}), v = eye(3, float64);
    const AttentionOptions options{.mask = Mask::blocked(blocked), .scale = 1};
    const Tensor fused = scaled_dot_product_attention(q, k, v, options);
    const Plain readable(Plain::operations);
    const Trace trace;
    const Tensor y = scaled_dot_product_attention(q, k, v, options);
    CHECK(named(trace, "scores").to_vector<double>() == std::vector<double>{1, 2, 3e9});
    CHECK(named(trace, "masked scores").to_vector<double>() == std::vector<double>{1, 2, -INFINITY});
    for (const Tensor& weights : {named(trace, "weights").reshape({1, 3}), y, fused})
        CHECK(difference(weights, replaced.weights) < 1e-15);
}

TEST_CASE("S2.05 four separate weights in, (Y, weights) out: the module's own", "[S2.05][source]") {
    Rng rng(1);
    const auto attention = in_double(nn::Attention(D, H, rng, {.fused = false}));
    const Tensor X = random({B, T, D});
    const auto [Y, weights] = core(X, attention.W_in[0].weight.T(), attention.W_in[1].weight.T(),
                                   attention.W_in[2].weight.T(), attention.W_out.weight.T());
    CHECK(Y.shape() == Shape{B, T, D});
    CHECK(weights.shape() == Shape{B, H, T, T});
    const auto result = attention.with_weights(X, Mask::causal());
    CHECK(difference(result.output, Y) < 1e-14);
    CHECK(difference(result.weights, weights) < 1e-14);
}

TEST_CASE("S2.06 scaled by √d_head the top weight is .711, by √D it would be .373", "[S2.06][source]") {
    // D 768, H 12, d_head 64; of four keys one has a dot product that is larger by 16.
    Tensor q = zeros({1, 64}), k = zeros({4, 64});
    q.slice(1, 0, 1).fill_(4);
    k[0].slice(0, 0, 1).fill_(4);
    CHECK(matmul(q, k.T()).to_vector<float>() == std::vector<float>{16, 0, 0, 0});
    const auto top = [&](std::optional<double> scale) {
        return printed(scaled_dot_product_attention_with_weights(q, k, eye(4), {.scale = scale}).weights[0], 3);
    };
    CHECK(top({}) == "0.711 0.096 0.096 0.096");
    CHECK(top(1 / std::sqrt(768.0)) == "0.373 0.209 0.209 0.209");

    // The module scales by its heads' width: √64, not √768.
    Rng rng(1);
    const nn::MultiHeadAttention attention(768, 12, rng);
    const Tensor x = random({T, 768}, 2, float32);
    const auto [Q, K, V] = nn::split_qkv(attention.W_qkv(x), 12);
    const Tensor dots = matmul(Q, K.transpose(-2, -1)), weights = attention.with_weights(x).weights;
    CHECK(difference(weights, softmax(dots / 8, -1)) < 1e-6);
    CHECK(difference(weights, softmax(dots / std::sqrt(768.0), -1)) > 1e-2);
}

TEST_CASE("S2.07 with singleton axes one mask (T, T) serves every sample and head", "[S2.07][source]") {
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(D, H, rng));
    const Plain readable(Plain::operations);
    const Trace trace;
    (void)attention(random({B, T, D}), Mask::causal());
    const Tensor scores = named(trace, "scores"), singletons = named(trace, "mask"), mask = causal_mask(T);
    REQUIRE(scores.shape() == Shape{B, H, T, T});
    REQUIRE(singletons.shape() == Shape{1, 1, T, T});  // one mask, for all of them
    const Tensor low = full({}, -1e9, float64), all_masked = where(singletons, low, scores);
    for (std::int64_t b = 0; b < B; ++b)
        for (std::int64_t h = 0; h < H; ++h) {
            CHECK(same_bits(all_masked[b][h], where(mask, low, scores[b][h])));
            CHECK(same_bits(named(trace, "masked scores")[b][h], masked_fill(scores[b][h], mask, -INFINITY)));
        }
    // A mask per sample, (B, T, T), needs its head axis: aligned from the right it meets the heads.
    const Tensor per_sample = mask.unsqueeze(0).expand({B, T, T});
    CHECK_THROWS_AS(where(per_sample, low, scores), ShapeError);
    CHECK(same_bits(where(per_sample.unsqueeze(1), low, scores), all_masked));
}

TEST_CASE("S2.08 the worked example: two heads, [8.8 1.2] and [3.0 5.95], merged", "[S2.08][source]") {
    const Tensor weights = tensor({{{.80, .20, .00}}, {{.05, .90, .05}}}, float64);  // (H = 2, 1, 3)
    const Tensor values = tensor({{{10, 1}, {4, 2}, {7, 3}}, {{1, 9}, {3, 6}, {5, 2}}}, float64);  // (2, 3, 2)
    const Tensor heads = matmul(weights, values);                                                  // (2, 1, 2)
    CHECK(printed(heads[0][0], 2) == "8.80 1.20");
    CHECK(printed(heads[1][0], 2) == "3.00 5.95");
    CHECK(printed(nn::merge_heads(heads)[0], 2) == "8.80 1.20 3.00 5.95");
    // The same by the library's attention, whose scores are the logarithms of those weights; its mask has rank
    // 4, since it differs from head to head.
    const Tensor keys = eye(3, float64).expand({2, 3, 3}), scores = masked_fill(log(weights), weights == 0, 0);
    const Mask unseen = Mask::blocked((weights == 0).unsqueeze(0));
    const Tensor y = scaled_dot_product_attention(scores, keys, values, {.mask = unseen, .scale = 1});
    CHECK(difference(y, heads) < 1e-14);
}

TEST_CASE("S2.11 D 12 in H 3 heads: d_head is 4", "[S2.11][source]") {
    Rng rng(1);
    const auto attention = in_double(nn::Attention(12, 3, rng, {.fused = false}));
    CHECK(attention.d_k == 4);
    const Tensor X = random({B, T, 12});
    const auto [q, k, v] = attention.project(X, X, X);
    CHECK(q.shape() == Shape{B, 3, T, 4});
    const Tensor scores = matmul(q, k.transpose(-2, -1)) / 2;  // √4
    CHECK(difference(attention.with_weights(X).weights, softmax(scores, -1)) < 1e-14);
}

TEST_CASE("S2.12 Q times K times V is not attention: its rows sum to anything and grow with the scores",
          "[S2.12][source]") {
    const Tensor q = random({T, d_head}, 1), k = random({T, d_head}, 2), v = random({T, d_head}, 3);
    const Tensor right = scaled_dot_product_attention(q, k, v), wrong = matmul(matmul(q, k.T()), v);
    CHECK(difference(right, wrong) > 1);
    CHECK(max(abs(right)).item() <= max(abs(v)).item());  // an average of the values
    CHECK(max(abs(wrong)).item() > max(abs(v)).item());
    CHECK(difference(matmul(matmul(q * 10, k.T()), v), wrong * 10) < 1e-12);  // linear in q: it chooses nothing
    CHECK(sum(matmul(q, k.T())[0]).item() != Approx(1));
}

TEST_CASE("S2.12 a mask after the weighted sum comes too late: the future is already mixed in",
          "[S2.12][source]") {
    const Tensor q = random({T, d_head}, 1), k = random({T, d_head}, 2), v = random({T, d_head}, 3);
    const auto late = [&](const Tensor& keys, const Tensor& values) {  // mask · (weights · V), row by row
        const Tensor mixed = scaled_dot_product_attention(q, keys, values);
        return masked_fill(mixed.unsqueeze(1).expand({T, T, d_head}), causal_mask(T).unsqueeze(2), 0);
    };
    const auto right = [&](const Tensor& keys, const Tensor& values) {
        return scaled_dot_product_attention(q, keys, values, {.mask = Mask::causal()});
    };
    Tensor other_k = k.clone(), other_v = v.clone();
    other_k[T - 1].fill_(3);
    other_v[T - 1].fill_(3);
    CHECK(same_bits(right(other_k, other_v).slice(0, 0, T - 1), right(k, v).slice(0, 0, T - 1)));
    for (std::int64_t i = 0; i + 1 < T; ++i) {
        CHECK(difference(late(other_k, other_v)[i][0], late(k, v)[i][0]) >
              1e-2);  // every token saw the last one
        CHECK(difference(late(k, v)[i][0], right(k, v)[i]) > 1e-2);
    }
}
