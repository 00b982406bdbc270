// Statements S0.01 – S0.11: multi-head attention and causal masking, in questions and answers.
// N tokens, C = d_model, H heads, d_k = C / H.
#include <cmath>
#include <set>

#include "../examples/three_roles.h"
#include "catch.h"
#include "source.h"

using namespace source;

namespace {

constexpr std::int64_t N = 6, C = 512, H = 8, d_k = 64;

nn::Attention attention_512() {
    Rng rng(1);
    return in_double(nn::Attention(C, H, rng, {.fused = false}));
}

// Columns 64h … 64h + 63.
Tensor columns(const Tensor& x, std::int64_t h) { return x.slice(-1, h * d_k, (h + 1) * d_k); }

// softmax(Q_h K_hᵀ / √64) V_h, by slicing columns.
Tensor one_head(const nn::Attention& attention, const Tensor& x, std::int64_t h) {
    const Tensor q = columns(attention.W_in[0](x), h), k = columns(attention.W_in[1](x), h);  // (N, 64)
    const Tensor weights = softmax(matmul(q, k.T()) / std::sqrt(64.0), -1);                   // (N, N)
    return matmul(weights, columns(attention.W_in[2](x), h));                                 // (N, 64)
}

// "The cat sat on": row i are the scores of token i.
Tensor printed_scores(DType dtype) {
    return tensor({{2.0, 1.5, 0.8, 0.3}, {1.2, 1.8, 0.9, 0.4}, {0.5, 1.1, 2.1, 0.7}, {0.3, 0.6, 1.3, 1.9}},
                  dtype);
}

// The library's weights of those scores under the causal mask: q = scores, k = v = the identity.
Tensor causal_weights(DType dtype) {
    const Tensor one = eye(4, dtype);
    return scaled_dot_product_attention(printed_scores(dtype), one, one, {.mask = Mask::causal(), .scale = 1});
}

lm::GPT language_model() {
    Rng rng(3);
    lm::GPT model({.vocab_size = 11, .block_size = 12, .num_layers = 2, .num_heads = 2, .d_model = 16}, rng);
    return in_double(model);
}

}  // namespace

TEST_CASE("S0.01 d_model 512 in 8 heads: projections (N, 512), heads (N, 64)", "[S0.01][source]") {
    const auto attention = attention_512();
    CHECK(attention.d_k == 64);
    const Tensor x = random({N, C}), Q = attention.W_in[0](x);
    CHECK(Q.shape() == Shape{N, 512});
    const Tensor heads = nn::split_heads(Q, H);
    REQUIRE(heads.shape() == Shape{8, N, 64});
    for (std::int64_t h = 0; h < H; ++h) {  // each head is a projection of its own, to 64 columns
        const Tensor W_h = attention.W_in[0].weight.slice(0, h * d_k, (h + 1) * d_k).T();  // (512, 64)
        CHECK(difference(heads[h], matmul(x, W_h)) < 1e-12);
    }
}

TEST_CASE("S0.02 the five steps give what the module gives", "[S0.02][source]") {
    const auto attention = attention_512();
    const Tensor x = random({N, C});
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < H; ++h) heads.push_back(one_head(attention, x, h));
    const Tensor concat = cat(heads, -1);
    CHECK(concat.shape() == Shape{N, 512});
    const Tensor W_O = attention.W_out.weight.T();
    CHECK(W_O.shape() == Shape{512, 512});
    const Tensor output = matmul(concat, W_O);
    CHECK(difference(attention(x), output) < 1e-12);
    CHECK(max(abs(output)).item() > 0.1);
}

TEST_CASE("S0.03 head 1 owns columns 0 to 63, head 2 columns 64 to 127, and so on", "[S0.03][source]") {
    const Tensor row = arange(0, 512).reshape({1, 512});
    const Tensor heads = nn::split_heads(row, H);  // (8, 1, 64)
    for (std::int64_t h = 0; h < H; ++h) {
        CHECK(heads.at({h, 0, 0}) == 64 * h);
        CHECK(heads.at({h, 0, 63}) == 64 * h + 63);
    }
}

TEST_CASE("S0.03 zeroing a head's block of W_O removes exactly that head's contribution", "[S0.03][source]") {
    const auto attention = attention_512();
    const Tensor x = random({N, C}), all = attention(x);
    for (const std::int64_t h : {0, 3, 7}) {
        Tensor weight = attention.W_out.weight;  // (out, in): W_O's rows are its columns
        const Tensor before = weight.detach().clone();
        const Tensor contribution = matmul(one_head(attention, x, h), columns(before, h).T());
        {
            NoGrad off;
            columns(weight, h).fill_(0);
            CHECK(difference(all - attention(x), contribution) < 1e-12);
            weight.copy_(before);
        }
        CHECK(max(abs(contribution)).item() > 1e-2);
        CHECK(min(max(abs(contribution), 0).values).item() > 0);  // it is mixed into every output column
    }
}

TEST_CASE("S0.04 8 heads of 64 cost what one head of 512 does; 8 heads of 512 cost 8 times that",
          "[S0.04][source]") {
    // What the modules' kernels really ran, forward and backward, fused and step by step.
    Rng rng(1);
    const nn::Attention split(C, 8, rng), one(C, 1, rng), full(C, 8, rng, {.d_k = C, .d_v = C});
    const Tensor x = random({N, C}, 2, float32);
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        const auto cost = [&](const nn::Attention& attention) {
            Tensor y;
            const std::int64_t forward = multiply_adds([&] { y = attention(x); });
            CHECK(y.shape() == Shape{N, C});
            return std::pair(forward, multiply_adds([&] { sum(y).backward(); }));
        };
        const auto [forward, backward] = cost(split);
        CHECK(forward == 4 * N * C * C + 2 * N * N * C);  // four projections, scores and weighted sums
        CHECK(backward > forward);
        CHECK(cost(one) == std::pair(forward, backward));
        CHECK(cost(full) == std::pair(8 * forward, 8 * backward));
    }
    CHECK(split.num_parameters() == 4 * C * C);
    CHECK(one.num_parameters() == split.num_parameters());
    CHECK(full.num_parameters() == 8 * split.num_parameters());
}

TEST_CASE("S0.05 the upper triangle of the scores becomes −inf, the rest stays", "[S0.05][source]") {
    // In the run itself: q = the printed scores, k = v = the identity.
    const Tensor printed = printed_scores(float64), one = eye(4, float64);
    const Plain readable(Plain::operations);
    const Trace trace;
    const Tensor y = scaled_dot_product_attention(printed, one, one, {.mask = Mask::causal(), .scale = 1});
    const Tensor scores = named(trace, "scores").reshape({4, 4}),
                 masked = named(trace, "masked scores").reshape({4, 4});
    CHECK(same_bits(scores, printed));
    for (std::int64_t i = 0; i < 4; ++i)
        for (std::int64_t j = 0; j < 4; ++j)
            CHECK(masked.at({i, j}) == (j > i ? -INFINITY : printed.at({i, j})));
    CHECK(same_bits(y, softmax(masked, -1)));  // before softmax

    // And in a module, of whatever scores it has.
    Rng rng(1);
    const auto attention = in_double(nn::CausalMultiHeadAttention(16, 2, rng));
    const Trace of_module;
    (void)attention(random({N, 16}));
    const Tensor before = named(of_module, "scores"), after = named(of_module, "masked scores");
    REQUIRE(after.shape() == Shape{1, 2, N, N});
    for (std::int64_t h = 0; h < 2; ++h)
        for (std::int64_t i = 0; i < N; ++i)
            for (std::int64_t j = 0; j < N; ++j)
                CHECK(after.at({0, h, i, j}) == (j > i ? -INFINITY : before.at({0, h, i, j})));
    CHECK(same_bits(named(of_module, "weights"), softmax(after, -1)));
}

TEST_CASE("S0.06 rows 1 and 2 of the printed weights are right to two digits", "[S0.06][source]") {
    for (const DType dtype : {float32, float64}) {
        const Tensor weights = causal_weights(dtype);
        CHECK(printed(weights[0], 2) == "1.00 0.00 0.00 0.00");
        CHECK(printed(weights[1], 2) == "0.35 0.65 0.00 0.00");
        CHECK(max(abs(triu(weights, 1))).item() == 0);  // the future gets nothing at all
        for (std::int64_t i = 0; i < 4; ++i) CHECK(sum(weights[i]).item() == Approx(1).epsilon(1e-6));
        CHECK(same_bits(weights[0], eye(4, dtype)[0]));
    }
}

TEST_CASE("S0.07 rows 3 and 4 of the printed weights are not what softmax gives", "[S0.07][source]") {
    for (const DType dtype : {float32, float64}) {
        const Tensor weights = causal_weights(dtype);
        CHECK(printed(weights[2], 4) == "0.1286 0.2344 0.6370 0.0000");
        CHECK(printed(weights[3], 4) == "0.0998 0.1347 0.2713 0.4943");
        CHECK(difference(weights[2], tensor({.14, .26, .60, 0}, dtype)) > 0.03);
        CHECK(difference(weights[3], tensor({.08, .11, .22, .59}, dtype)) > 0.09);
    }
}

TEST_CASE("S0.08 one pass over N tokens makes the N − 1 predictions of N − 1 passes over prefixes",
          "[S0.08][source]") {
    const auto model = language_model();
    const Tensor ids = tensor({4, 1, 7, 7, 0, 10, 3, 2}, int64);  // N = 8
    const std::int64_t n = ids.numel();
    const Tensor logits = model(ids).slice(0, 0, n - 1), targets = ids.slice(0, 1, n);  // N − 1 of each
    double total = 0;
    for (std::int64_t length = 1; length < n; ++length) {
        const Tensor prefix = model(ids.slice(0, 0, length)), last = prefix[length - 1];
        CHECK(difference(logits[length - 1], last) < 1e-12);
        total += cross_entropy(last.unsqueeze(0), ids.slice(0, length, length + 1)).item();
    }
    CHECK(cross_entropy(logits, targets).item() == Approx(total / static_cast<double>(n - 1)).epsilon(1e-12));
}

TEST_CASE("S0.08 the gradients of one pass are the mean of those of the N − 1 passes", "[S0.08][source]") {
    auto model = language_model();
    const Tensor ids = tensor({4, 1, 7, 7, 0, 10, 3, 2}, int64);
    const std::int64_t n = ids.numel();
    const auto gradients = [&] {
        std::vector<Tensor> all;
        for (const Tensor& p : model.parameters()) all.push_back(p.grad().clone().reshape({p.numel()}));
        model.zero_grad();
        return cat(all);
    };
    cross_entropy(model(ids.slice(0, 0, n - 1)), ids.slice(0, 1, n)).backward();
    const Tensor together = gradients();
    for (std::int64_t length = 1; length < n; ++length) {
        const Tensor last = model(ids.slice(0, 0, length)).slice(0, length - 1, length);
        (cross_entropy(last, ids.slice(0, length, length + 1)) / static_cast<double>(n - 1)).backward();
    }
    CHECK(difference(gradients(), together) < 1e-12);
    CHECK(max(abs(together)).item() > 1e-2);
}

TEST_CASE("S0.08 row i depends on the tokens up to i alone, bit for bit", "[S0.08][source]") {
    const auto model = language_model();
    const Tensor ids = tensor({4, 1, 7, 7, 0, 10, 3, 2}, int64), logits = model(ids);
    for (std::int64_t at = 0; at < ids.numel(); ++at) {
        Tensor other = ids.clone();
        other.data<std::int64_t>()[at] = 5;
        const Tensor changed = model(other);
        for (std::int64_t i = 0; i < ids.numel(); ++i) CHECK(same_bits(changed[i], logits[i]) == (i < at));
    }
}

TEST_CASE("S0.09 an encoder's tokens see every token, a decoder's only those before and themselves",
          "[S0.09][source]") {
    Rng rng(2);
    const auto encoder = in_double(nn::MultiHeadAttention(16, 2, rng));
    const auto decoder = in_double(nn::CausalMultiHeadAttention(16, 2, rng));
    const Tensor x = random({N, 16}), seen = encoder(x), before = decoder(x);
    CHECK(min(encoder.with_weights(x).weights).item() > 0);
    for (std::int64_t j = 0; j < N; ++j) {
        Tensor other = x.clone();
        other[j].add_(ones({16}, float64));
        const Tensor now_seen = encoder(other), now_before = decoder(other);
        for (std::int64_t i = 0; i < N; ++i) {
            CHECK_FALSE(same_bits(now_seen[i], seen[i]));
            CHECK(same_bits(now_before[i], before[i]) == (i < j));
        }
    }
}

TEST_CASE("S0.10 self-attention takes Q, K and V from one sequence, cross-attention K and V from another",
          "[S0.10][source]") {
    const auto attention = attention_512();
    const Tensor x = random({4, C}, 5), encoded = random({7, C}, 6);
    const Tensor y = attention(x, encoded, encoded);  // T = 4 queries, S = 7 keys
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < H; ++h) {
        const Tensor q = columns(attention.W_in[0](x), h);  // (4, 64)
        const Tensor k = columns(attention.W_in[1](encoded), h), v = columns(attention.W_in[2](encoded), h);
        heads.push_back(matmul(softmax(matmul(q, k.T()) / 8, -1), v));
    }
    CHECK(difference(y, attention.W_out(cat(heads, -1))) < 1e-12);
    CHECK(difference(attention(x, x, x), attention(x)) < 1e-12);
    // One fused projection reads both sequences through its blocks of rows, all the same.
    Rng rng(2);
    auto fused = in_double(nn::MultiHeadAttention(C, H, rng));
    fused.load_state_dict(
        {{"W_qkv.weight", cat({attention.W_in[0].weight.detach(), attention.W_in[1].weight.detach(),
                               attention.W_in[2].weight.detach()})},
         {"W_out.weight", attention.W_out.weight.detach()}});
    CHECK(difference(fused(x, encoded, encoded), y) < 1e-12);

    Tensor other = x.clone();
    other[2].add_(ones({C}, float64));
    const Tensor changed = attention(other, encoded, encoded);
    for (std::int64_t i = 0; i < 4; ++i) CHECK(same_bits(changed[i], y[i]) == (i != 2));  // a query is its own
    CHECK(difference(attention(x, flip(encoded, 0), flip(encoded, 0)), y) < 1e-12);       // keys have no order
}

TEST_CASE("S0.11 tokens come one at a time, each as the full pass says", "[S0.11][source]") {
    auto model = language_model();
    const Tensor prompt = tensor({4, 1, 7}, int64);
    const Tensor written = model.generate(prompt, 8, {.temperature = 0});
    REQUIRE(written.shape() == Shape{11});
    Tensor ids = prompt;
    while (ids.numel() < 11) {  // sequential: the next token is read before the one after it
        const Tensor next = argmax(model(ids)[ids.numel() - 1], 0).reshape({1});
        ids = cat({ids, next});
    }
    CHECK(written.to_vector<std::int64_t>() == ids.to_vector<std::int64_t>());
    const Tensor full =
        argmax(model(written), -1);  // one pass over all of them says the same at every position
    for (std::int64_t i = 3; i < 11; ++i) CHECK(full.at({i - 1}) == written.at({i}));
    const auto said = written.to_vector<std::int64_t>();
    CHECK(std::set<std::int64_t>(said.begin() + 3, said.end()).size() > 1);
}

TEST_CASE("S0.12 without a head's rows of W_O only the question that it took is lost", "[S0.12][source]") {
    using namespace three_roles;
    Rng rng(1001);
    const Sequences batch = sequences(256, rng);
    ThreeQuestions model = trained(3, 1);
    const Findings found = examine(model, batch);
    REQUIRE(one_each(found));
    const NoGrad off;
    Tensor W_O = model.attention.W_out.weight.T();  // (C, C), a view
    for (std::int64_t h = 0; h < 3; ++h) {
        const Tensor kept = W_O.clone();
        W_O.slice(0, h * three_roles::C / 3, (h + 1) * three_roles::C / 3).zero_();
        const Tensor without = examine(model, batch).accuracy;
        W_O.copy_(kept);
        const std::int64_t own = static_cast<std::int64_t>(found.shares[h].argmax().item());
        for (std::int64_t q = 0; q < 3; ++q) {
            INFO("head " << h << ", question " << q);
            CHECK(without[q].item() == (q == own ? Approx(0.3).margin(0.2) : Approx(1).margin(0.02)));
        }
    }
}
