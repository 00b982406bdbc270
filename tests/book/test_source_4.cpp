// Statements S4.01 and S4.03 – S4.05: multi-head causal self-attention with dropout.
// B batch, T tokens, D = d_model, H heads, d_head = D / H.
#include "catch.h"
#include "source.h"

using namespace source;

namespace {

constexpr std::int64_t B = 2, T = 5, D = 128, H = 4;

nn::CausalMultiHeadAttention attention_128(double dropout = 0) {
    Rng rng(1);
    return in_double(
        nn::CausalMultiHeadAttention(D, H, rng, {.max_seq_len = 16, .bias = true, .dropout = dropout}));
}

}  // namespace

TEST_CASE("S4.01 D to 3D, three parts, heads, scale d_head^−0.5, mask, softmax, @ V, merge, D to D",
          "[S4.01][source]") {
    const auto attention = attention_128();
    const Tensor x = random({B, T, D});
    const std::vector<Tensor> qkv = chunk(attention.W_qkv(x), 3, -1);  // (B, T, D) each
    const auto heads = [](const Tensor& part) { return part.reshape({B, T, H, 32}).permute({0, 2, 1, 3}); };
    const Tensor q = heads(qkv[0]), k = heads(qkv[1]), v = heads(qkv[2]);  // (B, H, T, d_head)
    Tensor scores = matmul(q, k.permute({0, 1, 3, 2})) * std::pow(32.0, -0.5);
    scores = where(triu(ones({T, T}), 1) != 0, full({}, -1e9, float64), scores);
    const Tensor weights = softmax(scores, -1);
    const Tensor out = matmul(weights, v).permute({0, 2, 1, 3}).reshape({B, T, D});
    CHECK(difference(attention(x), attention.W_out(out)) < 1e-13);
    CHECK(difference(attention.with_weights(x).weights, weights) < 1e-14);
}

TEST_CASE("S4.03 128 in 4 heads: d_head 32 and 49,536 + 16,512 = 66,048 parameters", "[S4.03][source]") {
    const auto attention = attention_128();
    CHECK(attention.d_k == 32);
    CHECK(attention.W_qkv.num_parameters() == 49'536);
    CHECK(attention.W_out.num_parameters() == 16'512);
    CHECK(attention.num_parameters() == 66'048);
    Rng rng(1);
    CHECK(nn::CausalMultiHeadAttention(D, H, rng, {.max_seq_len = 4}).num_parameters() == 65'536);
}

TEST_CASE("S4.04 dropout acts on the weights after softmax, and the kept ones are scaled by 1/(1 − p)",
          "[S4.04][source]") {
    auto attention = attention_128(0.25);
    const Tensor x = random({B, T, D});
    attention.eval();
    const auto plain = attention.with_weights(x);
    attention.train();
    std::int64_t dropped = 0, seen = 0, off = 0;
    double total = 0;
    constexpr int draws = 40;
    for (int draw = 0; draw < draws; ++draw) {
        const auto [output, weights] = attention.with_weights(x);
        const Tensor v = nn::split_qkv(attention.W_qkv(x), H)[2];  // the dropped weights make the output
        CHECK(difference(output, attention.W_out(nn::merge_heads(matmul(weights, v)))) < 1e-13);
        const auto kept = weights.to_vector<double>(), all = plain.weights.to_vector<double>();
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i] == 0) {
                REQUIRE(kept[i] == 0);  // what is blocked stays so
                continue;
            }
            ++seen;
            if (kept[i] == 0)
                ++dropped;
            else
                REQUIRE(kept[i] == Approx(all[i] / 0.75).epsilon(1e-12));
        }
        for (const double row : sum(weights, -1).to_vector<double>()) {
            off += std::abs(row - 1) > 1e-9;  // training rows need not sum to 1,
            total += row;
        }
    }
    CHECK(off > draws * B * H * T / 2);
    CHECK(total / (draws * B * H * T) == Approx(1).margin(0.03));  // but on average they do
    CHECK(static_cast<double>(dropped) / static_cast<double>(seen) == Approx(0.25).margin(0.02));
}

TEST_CASE("S4.04 in evaluation dropout is off: the same bits every time, and rows that sum to 1",
          "[S4.04][source]") {
    auto attention = attention_128(0.25);
    const Tensor x = random({B, T, D});
    CHECK_FALSE(same_bits(attention(x), attention(x)));
    attention.eval();
    CHECK(same_bits(attention(x), attention(x)));
    CHECK(same_bits(attention(x), attention_128()(x)));  // as if it had none
    CHECK(difference(sum(attention.with_weights(x).weights, -1), ones({B, H, T}, float64)) < 1e-14);
}

TEST_CASE("S4.05 −∞ of the prose and −1e9 of the code agree unless a row is fully masked", "[S4.05][source]") {
    for (const DType dtype : {float32, float64}) {
        const Tensor scores = random({T, T}, 3, dtype), low = full({}, -1e9, dtype);
        const Tensor causal = triu(ones({T, T}), 1) != 0;
        CHECK(same_bits(softmax(where(causal, low, scores), -1),
                        softmax(masked_fill(scores, causal, -INFINITY), -1)));
        Tensor blind = causal.clone();
        blind[2].fill_(1);
        const Tensor code = softmax(where(blind, low, scores), -1);
        CHECK(printed(code[2], 2) == "0.20 0.20 0.20 0.20 0.20");  // every token, the future too
        CHECK(max(abs(softmax(masked_fill(scores, blind, -INFINITY), -1)[2])).item() == 0);
    }
}
