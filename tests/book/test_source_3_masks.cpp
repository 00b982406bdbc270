// Statements S3.13 – S3.19: the masks of the long form.
// B batch, T tokens, C = d_model, H heads.
#include "catch.h"
#include "source.h"

using namespace source;

namespace {

constexpr std::int64_t T = 7, C = 8, H = 2;

// A mask as the chapter prints it: 1 where a query sees a key, ∞ for −∞.
std::string table(const Mask& mask, std::int64_t n) {
    const Tensor blocked = mask.materialize(1, 1, n, n).reshape({n, n});
    std::string text;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) text += blocked.at({i, j}) == 1 ? "-" : "1";
        text += "\n";
    }
    return text;
}

// "this is a sample sequence <pad> <pad>": the padding is no key, and as a query it sees nothing.
Mask padded() {
    Tensor blind = zeros({T, T}, boolean);
    blind.slice(0, 5, T).fill_(1);
    return Mask::padding({5}) | Mask::blocked(blind);
}

// softmax as the chapter's: e^(x − max) / Σ, with nothing to catch a row of −inf.
Tensor plain_softmax(const Tensor& x) {
    const Tensor e = exp(x - max(x, -1, keepdim).values.detach());
    return e / sum(e, -1, keepdim);
}

// The chapter's attention on (B, T, C), its masked_fill and its softmax, with a module's own projections.
Tensor chapter(const nn::Attention& attention, const Tensor& x, const Tensor& blocked) {
    const auto [q, k, v] = attention.project(x, x, x);
    const Tensor scores = matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(attention.d_k));
    const Tensor weights = plain_softmax(masked_fill(scores, blocked.unsqueeze(1), -INFINITY));
    return attention.W_out(nn::merge_heads(matmul(weights, v)));
}

nn::Attention small(bool bias = true) {
    Rng rng(1);
    return in_double(nn::Attention(C, H, rng, {.bias = bias, .fused = false}));
}

}  // namespace

TEST_CASE("S3.13 the causal table of \"this is a sample sequence\"", "[S3.13][source]") {
    CHECK(table(Mask::causal(), 5) ==
          "1----\n"
          "11---\n"
          "111--\n"
          "1111-\n"
          "11111\n");
}

TEST_CASE("S3.14 causal and padding, and padding alone: two tables with two fully masked rows",
          "[S3.14][source]") {
    CHECK(table(Mask::causal() | padded(), T) ==
          "1------\n"
          "11-----\n"
          "111----\n"
          "1111---\n"
          "11111--\n"
          "-------\n"
          "-------\n");
    CHECK(table(padded(), T) ==
          "11111--\n"
          "11111--\n"
          "11111--\n"
          "11111--\n"
          "11111--\n"
          "-------\n"
          "-------\n");
}

TEST_CASE("S3.15 the chapter's code gives NaN in fully masked rows, and NaN gradients to the whole batch",
          "[S3.15][source]") {
    auto attention = small();
    const Tensor blocked = (Mask::causal() | padded()).materialize(1, 1, T, T).reshape({1, T, T});
    const Tensor none = Mask::causal().materialize(1, 1, T, T).reshape({1, T, T});
    Tensor x = random({2, T, C}).requires_grad_();  // the second sample has no padding
    const Tensor y = chapter(attention, x, cat({blocked, none}));
    for (std::int64_t t = 0; t < T; ++t) {
        CHECK(has_nan(y[0][t]) == (t >= 5));
        CHECK_FALSE(has_nan(y[1][t]));
    }
    // Even a loss of the real tokens alone: 0 · NaN on the way back is NaN, and those weights serve every
    // sample.
    const auto spoiled = [&](const Tensor& loss) {
        attention.zero_grad();
        x.zero_grad();
        loss.backward();
        std::string names;
        for (const auto& [name, parameter] : attention.named_parameters())
            if (has_nan(parameter.grad())) names += name + " ";
        return names;
    };
    CHECK(spoiled(sum(y[0].slice(0, 0, 5)) + sum(y[1])) == "W_v.weight W_v.bias W_out.weight ");
    CHECK(has_nan(x.grad()[0]));
    CHECK_FALSE(has_nan(x.grad()[1]));
    CHECK(spoiled(sum(chapter(attention, x, cat({blocked, none})))) == "W_v.weight W_v.bias W_out.weight ");
}

TEST_CASE("S3.15 NaN replaced in the output stays in the gradients; a mask of keys alone makes none",
          "[S3.15][source]") {
    auto attention = small();
    const Tensor x = random({1, T, C});
    const Tensor both = padded().materialize(1, 1, T, T).reshape({1, T, T});
    const Tensor keys = Mask::padding({5}).materialize(1, 1, T, T).expand({1, 1, T, T}).reshape({1, T, T});
    const Tensor spoiled = chapter(attention, x, both), whole = chapter(attention, x, keys);
    CHECK(has_nan(spoiled));
    CHECK_FALSE(has_nan(whole));
    CHECK(difference(spoiled[0].slice(0, 0, 5), whole[0].slice(0, 0, 5)) == 0);  // real tokens do not notice
    const auto spoils = [&](const Tensor& y) {
        attention.zero_grad();
        sum(masked_fill(y, isnan(y), 0)).backward();
        std::string names;
        for (const auto& [name, parameter] : attention.named_parameters())
            if (has_nan(parameter.grad())) names += name + " ";
        return names;
    };
    CHECK(spoils(spoiled) == "W_v.weight W_v.bias W_out.weight ");
    CHECK(spoils(whole).empty());
}

TEST_CASE("S3.15 here weights, outputs and gradients of a fully masked row are exactly 0", "[S3.15][source]") {
    auto attention = small(false);
    const Mask mask = Mask::causal() | padded();
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        attention.zero_grad();
        Tensor x = random({1, T, C}).requires_grad_();
        const auto [output, weights] = attention.with_weights(x, mask);
        const Tensor y = attention(x, mask);
        CHECK(difference(y, output) < 1e-14);
        for (std::int64_t t = 5; t < T; ++t) {
            CHECK(max(abs(y[0][t])).item() == 0);
            for (std::int64_t h = 0; h < H; ++h) CHECK(max(abs(weights[0][h][t])).item() == 0);
        }
        sum(y * random({1, T, C}, 3)).backward();
        for (const Tensor& parameter : attention.parameters()) {
            CHECK(all(isfinite(parameter.grad())));
            CHECK(max(abs(parameter.grad())).item() > 0);
        }
        for (std::int64_t t = 0; t < T; ++t) CHECK((max(abs(x.grad()[0][t])).item() == 0) == (t >= 5));
    }
}

TEST_CASE("S3.16 a mask of the data pipeline, (B, T, T), is used as (B, 1, T, T)", "[S3.16][source]") {
    const auto attention = small();
    const Tensor x = random({3, T, C}), mask = random({3, T, T}, 5) > 0.5;
    const Tensor y = attention(x, Mask::blocked(mask));
    CHECK(same_bits(y, attention(x, Mask::blocked(mask.unsqueeze(1)))));
    CHECK(Mask::blocked(mask).materialize(3, H, T, T).shape() == Shape{3, 1, T, T});
    for (std::int64_t b = 0; b < 3; ++b)  // each sample by itself under its own mask
        CHECK(difference(y[b], attention(x[b], Mask::blocked(mask[b]))) < 1e-14);
}

TEST_CASE("S3.17 the two rules of broadcasting, and the two walk-throughs", "[S3.17][source]") {
    // Rule 1: aligned from the right, the shorter padded with 1s. Rule 2: equal, or one of them 1.
    CHECK(broadcast_shapes({4, 1, 7, 7}, {4, 8, 7, 7}, "mask") == Shape{4, 8, 7, 7});  // with unsqueeze(1)
    const std::string message = message_of<ShapeError>([] {
        broadcast_shapes({4, 7, 7}, {4, 8, 7, 7}, "mask");
    });  // without
    CHECK(contains(message, "(4, 7, 7)"));
    CHECK(contains(message, "(4, 8, 7, 7)"));
    // The same of real attention: its scores, its mask with the singleton axis, and what the two make.
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(16, 8, rng));
    const Plain readable(Plain::operations);
    const Trace trace;
    (void)attention(random({4, T, 16}), Mask::causal() | Mask::padding({7, 5, 6, 1}));
    const Tensor scores = named(trace, "scores"), mask = named(trace, "mask"),
                 masked = named(trace, "masked scores");
    REQUIRE(scores.shape() == Shape{4, 8, 7, 7});
    REQUIRE(mask.shape() == Shape{4, 1, 7, 7});
    const Tensor per_sample = mask.squeeze(1);  // (4, 7, 7), as a data pipeline makes it
    CHECK_THROWS_AS(masked_fill(scores, per_sample, -INFINITY), ShapeError);
    CHECK(same_bits(masked, masked_fill(scores, per_sample.unsqueeze(1), -INFINITY)));
    for (std::int64_t b = 0; b < 4; ++b)
        for (std::int64_t h = 0; h < 8; ++h)
            CHECK(same_bits(masked[b][h], masked_fill(scores[b][h], per_sample[b], -INFINITY)));
    const Tensor causal = per_sample[0];  // (7, 7), of the sample without padding
    CHECK(
        same_bits(masked_fill(scores, causal, -INFINITY)[3][5], masked_fill(scores[3][5], causal, -INFINITY)));
}

TEST_CASE("S3.18 plain broadcasting fits a per-sample mask to the heads when B = h; a Mask does not",
          "[S3.18][source]") {
    const std::int64_t n = 5;
    const auto attention = small();  // H = 2
    const Tensor x = random({2, n, C}), mask = (Mask::causal() | Mask::padding({2, 5})).materialize(2, 1, n, n);
    const Tensor per_sample = mask.reshape({2, n, n}), scores = random({2, H, n, n}, 6);
    const Tensor silent = masked_fill(scores, per_sample, -INFINITY);  // no error: B = h
    for (std::int64_t b = 0; b < 2; ++b)  // sample 0 and 1, head 1: masked by sample 1's mask
        CHECK(same_bits(silent[b][1], masked_fill(scores[b][1], per_sample[1], -INFINITY)));
    CHECK_FALSE(same_bits(silent, masked_fill(scores, mask, -INFINITY)));
    const Tensor y = attention(x, Mask::blocked(per_sample));
    for (std::int64_t b = 0; b < 2; ++b)
        CHECK(difference(y[b], attention(x[b], Mask::blocked(per_sample[b]))) < 1e-14);
}

TEST_CASE("S3.18 with B = 1 a mask of h samples is an error here, and no silent mask per head",
          "[S3.18][source]") {
    const Tensor two = random({H, T, T}, 3) > 0.5, scores = random({1, H, T, T});
    CHECK(masked_fill(scores, two, 0).shape() == scores.shape());  // plain broadcasting takes it
    const std::string message = message_of<ShapeError>([&] {
        return small()(random({1, T, C}), Mask::blocked(two));
    });
    CHECK(contains(message, "(2, 7, 7)"));
    CHECK(contains(message, "(1, 2, 7, 7)"));
}

TEST_CASE("S3.18 with T = h, unsqueeze(1) makes a (T, T) mask one row per head; a Mask keeps it whole",
          "[S3.18][source]") {
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(C, 4, rng));  // h = 4
    const Tensor x = random({1, 4, C}), causal = Mask::causal().materialize(1, 1, 4, 4).reshape({4, 4});
    const Tensor scores = random({1, 4, 4, 4}, 2);
    const Tensor silent = masked_fill(scores, causal.unsqueeze(1), -INFINITY);  // (4, 1, 4): heads × 1 × keys
    for (std::int64_t h = 0; h < 4; ++h)  // in head h every query, even the first, sees the keys up to h
        for (std::int64_t j = 0; j < 4; ++j) CHECK((silent.at({0, h, 0, j}) == -INFINITY) == (j > h));
    CHECK(difference(attention(x, Mask::blocked(causal)), attention(x, Mask::causal())) < 1e-14);
}

TEST_CASE("S3.19 padding is invisible: what stands in it changes no real token, bit for bit",
          "[S3.19][source]") {
    const auto attention = small();
    const Tensor x = random({2, T, C});
    const Mask mask = Mask::padding({5, 7});
    for (const bool causal : {false, true}) {
        const Mask both = causal ? mask | Mask::causal() : mask;
        const Tensor y = attention(x, both);
        Tensor other = x.clone();
        other[0].slice(0, 5, T).copy_(random({2, C}, 8) * 1e3);
        const Tensor changed = attention(other, both);
        CHECK(same_bits(changed[0].slice(0, 0, 5), y[0].slice(0, 0, 5)));
        CHECK(same_bits(changed[1], y[1]));
        CHECK(difference(y[0].slice(0, 0, 5),
                         attention(x[0].slice(0, 0, 5), causal ? Mask::causal() : Mask())) < 1e-14);
    }
}
