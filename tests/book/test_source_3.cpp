// Statements S3.01 – S3.12: multi-head attention, the long form; its masks are in test_source_3_masks.cpp.
// B batch, T tokens, C = d_model, H heads, d_k and d_v the widths of a head.
#include "catch.h"
#include "source.h"

using namespace source;

namespace {

constexpr std::int64_t B = 2, T = 5, C = 12, H = 3, d_k = 4;

// "The creek was cold and the spunky dog wanted to jump over it", each word by the number of its first place.
const std::vector<std::int64_t> sentence{0, 1, 2, 3, 4, 0, 6, 7, 8, 9, 10, 11, 12};

nn::Attention biased(std::int64_t d_model = C, std::int64_t num_heads = H) {
    Rng rng(1);
    return in_double(nn::Attention(d_model, num_heads, rng, {.bias = true, .fused = false}));
}

}  // namespace

TEST_CASE("S3.01 Concat(head_i) W_O, each head with its own d_model × d_k and d_model × d_v",
          "[S3.01][source]") {
    constexpr std::int64_t d_v = 6;  // differs from d_k
    const Tensor X = random({T, C});
    const Tensor W_Q = random({H, C, d_k}, 2), W_K = random({H, C, d_k}, 3), W_V = random({H, C, d_v}, 4),
                 W_O = random({H * d_v, C}, 5);
    const Tensor q = matmul(X, W_Q), k = matmul(X, W_K), v = matmul(X, W_V);  // (H, T, d_k) and (H, T, d_v)
    const Tensor heads = scaled_dot_product_attention(q, k, v);
    REQUIRE(heads.shape() == Shape{H, T, d_v});
    std::vector<Tensor> one_by_one;
    for (std::int64_t h = 0; h < H; ++h) {
        const Tensor scores = matmul(matmul(X, W_Q[h]), matmul(X, W_K[h]).T()) / 2;  // √d_k
        one_by_one.push_back(matmul(softmax(scores, -1), matmul(X, W_V[h])));
    }
    const Tensor concat = cat(one_by_one, -1);  // (T, h·d_v)
    CHECK(concat.shape() == Shape{T, H * d_v});
    CHECK(difference(matmul(nn::merge_heads(heads), W_O), matmul(concat, W_O)) < 1e-12);
    const Plain composed(Plain::operations);
    CHECK(difference(scaled_dot_product_attention(q, k, v), heads) < 1e-12);
}

TEST_CASE("S3.01 the module with d_v of its own: W_O is h·d_v × d_model", "[S3.01][source]") {
    Rng rng(1);
    const auto attention = in_double(nn::Attention(C, H, rng, {.fused = false, .d_k = 5, .d_v = 7}));
    CHECK(attention.W_in[0].weight.T().shape() == Shape{C, H * 5});  // W_i^Q: d_model × d_k, h of them
    CHECK(attention.W_in[1].weight.T().shape() == Shape{C, H * 5});
    CHECK(attention.W_in[2].weight.T().shape() == Shape{C, H * 7});
    CHECK(attention.W_out.weight.T().shape() == Shape{H * 7, C});
    const Tensor X = random({T, C});
    CHECK(difference(attention(X), textbook(X, attention.W_in[0].weight.T(), attention.W_in[1].weight.T(),
                                            attention.W_in[2].weight.T(), attention.W_out.weight.T(), H)) <
          1e-14);
}

TEST_CASE("S3.02 with biases a projection is X W + b", "[S3.02][source]") {
    const auto attention = biased();
    const Tensor X = random({B, T, C});
    const auto project = [&](const nn::Linear& W) {
        const Tensor by_hand = matmul(X, W.weight.T()) + W.bias;
        CHECK(max(abs(W.bias)).item() > 0);
        CHECK(difference(W(X), by_hand) < 1e-14);
        return nn::split_heads(by_hand, H);
    };
    const Tensor q = project(attention.W_in[0]), k = project(attention.W_in[1]), v = project(attention.W_in[2]);
    const Tensor heads = matmul(softmax(matmul(q, k.transpose(-2, -1)) / 2, -1), v);
    CHECK(difference(attention(X), attention.W_out(nn::merge_heads(heads))) < 1e-14);
}

TEST_CASE("S3.03 both \"the\" of the 13-token sentence have one row of X, and without positions one output",
          "[S3.03][source]") {
    const Tensor ids = from_vector(sentence, {13}), table = random({13, C}, 3);
    const Tensor X = embedding(table, ids);  // (13, C)
    REQUIRE(X.shape() == Shape{13, C});
    CHECK(same_bits(X[0], X[5]));
    const auto attention = biased();
    const Tensor Y = attention(X);
    CHECK(difference(Y[0], Y[5]) < 1e-15);
    for (std::int64_t t = 1; t < 13; ++t)
        if (t != 5) CHECK(difference(Y[t], Y[0]) > 1e-3);  // and no other word has it

    const Tensor placed = attention(X + random({13, C}, 4));  // with positions the two differ,
    CHECK(difference(placed[0], placed[5]) > 1e-3);
    const Tensor causal = attention(X, Mask::causal());  // and so they do where each sees its own past
    CHECK(difference(causal[0], causal[5]) > 1e-3);
}

TEST_CASE("S3.04 parameters: 4·d² whatever h, 4·h·d² without the reduction", "[S3.04][source]") {
    Rng rng(1);
    for (const std::int64_t num_heads : {1, 8, 64}) {
        CHECK(nn::Attention(512, num_heads, rng, {.fused = false}).num_parameters() == 1'048'576);
        CHECK(nn::Attention(512, num_heads, rng, {.bias = true, .fused = false}).num_parameters() == 1'050'624);
    }
    // Heads of full width: 512 → 8 · 512 three times, and 8 · 512 → 512.
    const auto full = [&](std::int64_t num_heads) {
        return nn::Attention(512, num_heads, rng, {.d_k = 512, .d_v = 512}).num_parameters();
    };
    CHECK(full(8) == 8'388'608);
    CHECK(full(1) == 1'048'576);
}

TEST_CASE("S3.05 a head of d_k costs 2·T²·d_k multiply-adds, one of d_model h times that", "[S3.05][source]") {
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        const auto attend = [](std::int64_t heads, std::int64_t n, std::int64_t width) {
            const Tensor q = random({heads, n, width}, 1), k = random({heads, n, width}, 2),
                         v = random({heads, n, width}, 3);
            return multiply_adds([&] { scaled_dot_product_attention(q, k, v); });
        };
        CHECK(attend(1, 16, 64) == 2 * 16 * 16 * 64);
        CHECK(attend(1, 16, 512) == 8 * attend(1, 16, 64));
        CHECK(attend(1, 96, 64) == 36 * attend(1, 16, 64));  // 6 times the tokens, 36 times the cost
        CHECK(attend(8, 16, 64) == attend(1, 16, 512));      // eight narrow heads cost one wide one
        // And so in the module, beside its projections: 3 to queries, keys and values, 1 to the output.
        Rng rng(1);
        const nn::Attention narrow(512, 8, rng), wide(512, 8, rng, {.d_k = 512, .d_v = 512});
        const Tensor X = random({16, 512}, 2, float32);
        CHECK(multiply_adds([&] { narrow(X); }) - 4 * 16 * 512 * 512 == 8 * attend(1, 16, 64));
        CHECK(multiply_adds([&] { wide(X); }) - 8 * 4 * 16 * 512 * 512 == 8 * attend(1, 16, 512));
    }
}

TEST_CASE("S3.05 for T = 2·d_model the products of attention cost what the four projections cost, whatever h",
          "[S3.05][source]") {
    Rng rng(1);
    for (const std::int64_t num_heads : {1, 8}) {
        const nn::MultiHeadAttention attention(32, num_heads, rng);
        const auto beside_projections = [&](std::int64_t n) {
            return multiply_adds([&] { attention(random({n, 32}, 2, float32)); }) - 4 * n * 32 * 32;
        };
        CHECK(beside_projections(64) == 4 * 64 * 32 * 32);
        CHECK(beside_projections(63) < 4 * 63 * 32 * 32);
    }
}

TEST_CASE("S3.06 512 in 8 heads: one d × d matrix is 8 separate d × 64 projections, side by side",
          "[S3.06][source]") {
    const auto attention = biased(512, 8);
    CHECK(attention.d_k == 64);
    const Tensor X = random({T, 512});
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < 8; ++h) {
        const auto small = [&](const nn::Linear& W) {
            Rng rng(7);
            nn::Linear own = in_double(nn::Linear(512, 64, rng));  // 512 → 64, of its own
            own.load_state_dict({{"weight", W.weight.detach().slice(0, 64 * h, 64 * (h + 1)).clone()},
                                 {"bias", W.bias.detach().slice(0, 64 * h, 64 * (h + 1)).clone()}});
            return own(X);
        };
        const Tensor weights = softmax(matmul(small(attention.W_in[0]), small(attention.W_in[1]).T()) / 8, -1);
        heads.push_back(matmul(weights, small(attention.W_in[2])));
    }
    for (const nn::Linear& W : {attention.W_in[0], attention.W_in[1], attention.W_in[2], attention.W_out}) {
        CHECK(W.weight.shape() == Shape{512, 512});
        CHECK(W.bias.shape() == Shape{512});
    }
    CHECK(difference(attention(X), attention.W_out(cat(heads, -1))) < 1e-12);
}

TEST_CASE("S3.06 without arguments d_model is 512, in 8 heads", "[S3.06][source]") {
    const nn::MultiHeadAttention by_default;
    CHECK(by_default.d_model == 512);
    CHECK(by_default.num_heads == 8);
    CHECK(by_default.d_k == 64);
    CHECK(by_default.num_parameters() == 4 * 512 * 512);
    CHECK(by_default(random({T, 512}, 1, float32)).shape() == Shape{T, 512});
}

TEST_CASE("S3.07 (T, d) and (B, T, d) both work: T is shape[−2]", "[S3.07][source]") {
    const auto attention = biased();
    const Tensor batch = random({B, T, C}), Y = attention(batch);
    CHECK(batch.size(-2) == T);
    for (std::int64_t b = 0; b < B; ++b) {
        CHECK(batch[b].size(-2) == T);
        CHECK(attention(batch[b]).shape() == Shape{T, C});
        CHECK(difference(attention(batch[b]), Y[b]) < 1e-14);
        CHECK(difference(attention(batch[b], Mask::causal()), attention(batch, Mask::causal())[b]) < 1e-14);
    }
    // With B = shape[0], as the chapter's last listing has it, a single sequence does not fit the view.
    CHECK_THROWS_AS(batch[0].view({T, T, H, d_k}), ShapeError);
}

TEST_CASE(
    "S3.08 split: view (B, T, h, d_k), permute (0, 2, 1, 3); unbatched view (T, h, d_k), permute (1, 0, 2)",
    "[S3.08][source]") {
    const Tensor q = random({B, T, C});
    const Tensor split = q.view({B, T, H, d_k}).permute({0, 2, 1, 3}),
                 one = q[1].view({T, H, d_k}).permute({1, 0, 2});
    CHECK(same_bits(split, nn::split_heads(q, H)));
    CHECK(same_bits(one, split[1]));
    CHECK(split.shares_storage(q));  // neither of them copies
    CHECK(split.at({1, 2, 3, 1}) == q.at({1, 3, 2 * d_k + 1}));
}

TEST_CASE("S3.08 split without the permute, the heads of a token attend to one another: no token sees another",
          "[S3.08][source]") {
    const auto attention = biased();
    const auto outputs = [&](const Tensor& x) {  // (B, T, C) → (B, T, H, d_k)
        const auto split = [&](const nn::Linear& W) { return W(x).view({B, T, H, d_k}); };
        const Tensor q = split(attention.W_in[0]), k = split(attention.W_in[1]), v = split(attention.W_in[2]);
        CHECK(matmul(q, k.transpose(-2, -1)).shape() == Shape{B, T, H, H});
        return scaled_dot_product_attention(q, k, v);
    };
    const Tensor x = random({B, T, C}), y = outputs(x);
    Tensor other = x.clone();
    other[0][1].fill_(3);
    const Tensor moved = outputs(other);
    for (std::int64_t t = 0; t < T; ++t) CHECK(same_bits(moved[0][t], y[0][t]) == (t != 1));
    const Tensor merged = attention.W_out(y.permute({0, 2, 1, 3}).reshape({B, T, C}));  // of the right shape
    CHECK(difference(merged, attention(x)) > 1e-2);
}

TEST_CASE("S3.09 without the permute, row 0 is the first d_model elements of head 0: wrong",
          "[S3.09][source]") {
    const Tensor heads = random({H, T, d_k});
    const Tensor right = heads.permute({1, 0, 2}).reshape({T, C}), wrong = heads.reshape({T, C});
    CHECK(same_bits(right, nn::merge_heads(heads)));
    CHECK(same_bits(wrong[0], heads[0].reshape({T * d_k}).slice(0, 0, C)));    // tokens 0 to 2 of head 0
    CHECK(same_bits(right[0], cat({heads[0][0], heads[1][0], heads[2][0]})));  // token 0 of every head
    CHECK(difference(wrong, right) > 1);
}

TEST_CASE("S3.10 permute breaks contiguity: view refuses and names the way out, reshape copies",
          "[S3.10][source]") {
    const Tensor x = random({H, T, d_k}), moved = x.permute({1, 0, 2});
    CHECK(x.is_contiguous());
    CHECK_FALSE(moved.is_contiguous());
    const std::string message = message_of<ShapeError>([&] { return moved.view({T, C}); });
    CHECK(contains(message, "contiguous()"));
    CHECK(contains(message, "reshape()"));
    CHECK(contains(message, "(5, 3, 4)"));
    CHECK(contains(message, "(5, 12)"));
    const Tensor reshaped = moved.reshape({T, C});
    CHECK(same_bits(reshaped, moved.contiguous().view({T, C})));
    CHECK_FALSE(reshaped.shares_storage(x));                   // it had to copy
    CHECK(x.reshape({H * T, d_k}).shares_storage(x));          // and does not where it need not,
    CHECK(moved.reshape({T, H, 2, 2}).shares_storage(moved));  // even on a tensor that is not contiguous
    CHECK(x.contiguous().shares_storage(x));
}

TEST_CASE("S3.11 masked_fill(mask, −inf) before softmax, true = blocked", "[S3.11][source]") {
    const Tensor Q = random({B, H, T, d_k}, 1), K = random({B, H, T, d_k}, 2), V = random({B, H, T, d_k}, 3);
    const Tensor mask = random({T, T}, 4) > 0.3;
    const Tensor blocked = mask && !(eye(T, float64) != 0);  // every row sees itself
    const Tensor scaled = matmul(Q, K.transpose(-1, -2)) / 2;
    const Tensor weights = softmax(masked_fill(scaled, blocked, -INFINITY), -1);
    const auto result = scaled_dot_product_attention_with_weights(Q, K, V, {.mask = Mask::blocked(blocked)});
    CHECK(difference(result.output, matmul(weights, V)) < 1e-14);
    for (std::int64_t i = 0; i < T; ++i)
        for (std::int64_t j = 0; j < T; ++j)
            CHECK((result.weights.at({1, 2, i, j}) == 0) == (blocked.at({i, j}) == 1));
    CHECK(difference(scaled_dot_product_attention(Q, K, V, {.mask = Mask::allowed(!blocked)}), result.output) <
          1e-14);
}

TEST_CASE("S3.12 d_model that n_heads does not divide is refused at construction", "[S3.12][source]") {
    Rng rng(1);
    for (const std::int64_t num_heads : {3, 7, 0, -2, 513}) {
        const std::string message =
            message_of<ValueError>([&] { nn::MultiHeadAttention(512, num_heads, rng); });
        CHECK(contains(message, "d_model 512"));
        CHECK(contains(message, std::to_string(num_heads) + " heads"));
    }
    // The chapter's int(512 / 3) = 170: three such heads hold 510 of 512 columns, and its view fails later.
    CHECK_THROWS_AS(zeros({B, T, 512}).view({B, T, 3, 512 / 3}), ShapeError);
}
