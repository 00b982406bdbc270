// Statements S1.01 – S1.11 and S1.13: multi-head attention with one fused projection.
// B batch, T tokens, C = d_model, H heads, d_k = C / H.
#include "catch.h"
#include "markdown.h"
#include "source.h"

using namespace source;

namespace {

constexpr std::int64_t B = 2, T = 5, C = 12, H = 3, d_k = 4;

// The chapter's forward pass: x (B, T, C), blocked (T, T) with 1 = blocked or undefined → (B, T, C).
template <class M>
Tensor chapter(const M& attention, const nn::Linear& W_qkv, const Tensor& x, const Tensor& blocked = {}) {
    const std::int64_t b = x.size(0), t = x.size(1), num_heads = attention.num_heads, width = attention.d_k;
    const Tensor qkv =
        W_qkv(x).reshape({b, t, 3, num_heads, width}).permute({2, 0, 3, 1, 4});  // (3, B, H, T, d_k)
    const Tensor Q = qkv[0], K = qkv[1], V = qkv[2];
    Tensor scores = matmul(Q, K.transpose(-2, -1)) / std::sqrt(static_cast<double>(width));  // (B, H, T, T)
    if (blocked.defined()) scores = scores + blocked * -1e9;
    const Tensor out = matmul(softmax(scores, -1), V);  // (B, H, T, d_k)
    return attention.W_out(out.permute({0, 2, 1, 3}).reshape({b, t, num_heads * width}));
}

Tensor future(std::int64_t n, DType dtype = float64) { return triu(ones({n, n}, dtype), 1); }

}  // namespace

TEST_CASE("S1.01 d_k is d_model / heads; W_qkv is d to 3d and W_out d to d, both without bias",
          "[S1.01][source]") {
    Rng rng(1);
    const nn::MultiHeadAttention attention(C, H, rng);
    CHECK(attention.d_k == 4);
    CHECK(attention.W_qkv.weight.shape() == Shape{3 * C, C});
    CHECK(attention.W_out.weight.shape() == Shape{C, C});
    CHECK_FALSE(attention.W_qkv.bias.defined());
    CHECK_FALSE(attention.W_out.bias.defined());
    CHECK(attention.parameters().size() == 2);
    CHECK(max(abs(attention(zeros({B, T, C})))).item() == 0);  // without biases nothing comes of nothing
    CHECK(contains(message_of<ValueError>([&] { nn::MultiHeadAttention(C, 5, rng); }),
                   "d_model 12 does not divide into 5 heads"));
}

TEST_CASE("S1.02 reshape (B, T, 3, H, d_k), permute (2, 0, 3, 1, 4): Q, K and V, each (B, H, T, d_k)",
          "[S1.02][source]") {
    const Tensor x = random({B, T, 3 * C});
    const Tensor qkv = x.reshape({B, T, 3, H, d_k}).permute({2, 0, 3, 1, 4});
    CHECK(qkv.shape() == Shape{3, B, H, T, d_k});
    const auto parts = nn::split_qkv(x, H);
    for (std::int64_t part = 0; part < 3; ++part) {
        const Tensor one = qkv[part];
        REQUIRE(one.shape() == Shape{B, H, T, d_k});
        CHECK(one.shares_storage(x));  // three views of the projection: nothing is copied
        CHECK(same_bits(parts[static_cast<std::size_t>(part)], one));
        for (std::int64_t h = 0; h < H; ++h)
            for (std::int64_t i = 0; i < d_k; ++i)
                CHECK(one.at({1, h, 3, i}) == x.at({1, 3, part * C + h * d_k + i}));
    }
}

TEST_CASE("S1.03 the chapter's forward pass is the module's, without a mask and with mask·(−1e9)",
          "[S1.03][source]") {
    Rng rng(1);
    auto attention = nn::MultiHeadAttention(C, H, rng);
    auto causal = nn::CausalMultiHeadAttention(C, H, rng);
    for (const DType dtype : {float32, float64}) {
        attention.to(dtype);
        causal.to(dtype);
        const Tensor x = random({B, T, C}, 4, dtype);
        const double close = dtype == float32 ? 1e-6 : 1e-14;
        CHECK(difference(attention(x), chapter(attention, attention.W_qkv, x)) < close);
        // Every row sees a token here, so adding −1e9 blocks as well as −inf does.
        CHECK(difference(causal(x), chapter(causal, causal.W_qkv, x, future(T, dtype))) < close);
        const Tensor own = causal.mask().slice(0, 0, T).slice(1, 0, T).to(dtype);
        CHECK(same_bits(own, future(T, dtype)));
        CHECK(difference(causal(x), chapter(causal, causal.W_qkv, x)) > 1e-2);
    }
}

TEST_CASE("S1.04 the causal mask is triu(ones, 1) of 1024 by default, a buffer, used as [:T, :T]",
          "[S1.04][source]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention by_default(8, 2, rng);
    CHECK(by_default.max_seq_len == 1024);
    CHECK(by_default.mask().shape() == Shape{1024, 1024});
    CHECK(all(by_default.mask() == (triu(ones({1024, 1024}), 1) != 0)));
    CHECK(by_default.parameters().size() == 2);

    auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng, {.max_seq_len = 9}));
    const Tensor x = random({B, T, C});
    const Plain composed(Plain::operations);  // it names the steps
    CHECK(difference(attention(x), chapter(attention, attention.W_qkv, x, future(T))) < 1e-14);
    const Trace trace;
    const Tensor mask = attention.mask();
    (void)attention(x);
    CHECK(all(named(trace, "mask") == mask.slice(0, 0, T).slice(1, 0, T)));
    CHECK(all((named(trace, "masked scores") == -INFINITY) == mask.slice(0, 0, T).slice(1, 0, T)));
}

TEST_CASE("S1.04 the buffer decides in every mode: an edit inside [:T, :T] has its effect, one outside none",
          "[S1.04][source]") {
    using nn::Attention;
    const std::vector<std::function<Tensor(const Attention&, const Tensor&)>> modes{
        [](const Attention& attention, const Tensor& x) { return attention(x); },
        [](const Attention& attention, const Tensor& x) { return attention.with_weights(x).output; },
        [](const Attention& attention, const Tensor& x) {
            const NoGrad off;
            nn::KeyValueCache cache;
            std::vector<Tensor> outputs;
            for (std::int64_t t = 0; t < T; ++t) outputs.push_back(attention(x.slice(1, t, t + 1), cache));
            return cat(outputs, 1);
        }};
    const Tensor x = random({B, T, C});
    for (const bool fused : {true, false})
        for (const bool training : {true, false})
            for (const auto& run : modes) {
                const Plain path(Plain::operations, !fused);
                Rng rng(1);
                auto attention = in_double(Attention(C, H, rng, {.causal = true, .max_seq_len = 9}));
                attention.train(training);
                const Tensor before = run(attention, x);
                attention.set_mask(attention.mask());
                Tensor mask = attention.mask();
                mask.slice(0, T, 9).fill_(1);  // outside [:T, :T]
                mask.slice(1, T, 9).fill_(1);
                CHECK(difference(run(attention, x), before) < 1e-14);
                mask[T - 1].slice(0, 0, 1).fill_(1);  // the last token no longer attends to the first,
                mask[0].slice(0, 1, 2).zero_();       // and the first attends to the second
                const Tensor after = run(attention, x);
                CHECK(difference(after.slice(1, 1, T - 1), before.slice(1, 1, T - 1)) < 1e-14);
                CHECK(difference(after.select(1, T - 1), before.select(1, T - 1)) > 1e-3);
                if (&run != &modes.back()) {  // one token after the other, the second is not there yet
                    CHECK(difference(after.select(1, 0), before.select(1, 0)) > 1e-3);
                    const Tensor edited = mask.slice(0, 0, T).slice(1, 0, T).to(float64);
                    CHECK(difference(after, chapter(attention, attention.W_in[0], x, edited)) < 1e-14);
                }
                // A file cannot change it unseen: the mask is set, not loaded.
                nn::NamedTensors state = attention.state_dict();
                state.emplace_back("mask", zeros({9, 9}, boolean));
                CHECK(contains(message_of<ValueError>([&] { attention.load_state_dict(state); }), "mask"));
                CHECK(same_bits(run(attention, x), after));
            }
}

TEST_CASE("S1.05 the mask is a registered buffer that is no parameter, and stays bool", "[S1.05][source]") {
    Rng rng(1);
    auto attention = in_double(nn::Attention(C, H, rng, {.causal = true, .max_seq_len = T}));
    attention.set_mask(attention.mask());  // until then it compares positions
    const Tensor mask = attention.mask();
    REQUIRE(attention.named_buffers().size() == 1);
    CHECK(attention.named_buffers()[0].first == "mask");
    CHECK(attention.named_buffers()[0].second.handle() == mask.handle());
    CHECK(attention.mask().dtype() == boolean);
    for (const auto& [name, parameter] : attention.named_parameters())
        CHECK(parameter.handle() != attention.mask().handle());
    for (const auto& [name, tensor] : attention.state_dict()) CHECK(name != "mask");  // it is set, not learned
    CHECK(attention.num_parameters() == 4 * C * C);
}

TEST_CASE("S1.05 more tokens than max_seq_len are refused, with both numbers", "[S1.05][source]") {
    Rng rng(1);
    const nn::Attention attention(C, H, rng, {.causal = true, .max_seq_len = T});
    const std::string message = message_of<ShapeError>([&] { return attention(zeros({B, T + 1, C})); });
    CHECK(contains(message, "6 tokens"));
    CHECK(contains(message, "max_seq_len is 5"));
    CHECK_THROWS_AS(attention.with_weights(zeros({T + 1, C})), ShapeError);
    const Plain composed(Plain::operations);
    CHECK_THROWS_AS(attention(zeros({B, T + 1, C})), ShapeError);
}

TEST_CASE("S1.06 GPT-2 small: 768 / 12 = 64, and the shapes on the way", "[S1.06][source]") {
    Rng rng(1);
    const nn::MultiHeadAttention attention(768, 12, rng);
    CHECK(attention.d_k == 64);
    const Tensor x = random({B, T, 768}, 2, float32);
    const auto [Q, K, V] = nn::split_qkv(attention.W_qkv(x), 12);
    for (const Tensor& part : {Q, K, V}) CHECK(part.shape() == Shape{B, 12, T, 64});
    const Tensor scores = matmul(Q, K.transpose(-2, -1)) / 8;
    CHECK(scores.shape() == Shape{B, 12, T, T});
    const auto [output, weights] = attention.with_weights(x);
    CHECK(weights.shape() == Shape{B, 12, T, T});
    CHECK(difference(weights, softmax(scores, -1)) < 1e-6);
    CHECK(output.shape() == Shape{B, T, 768});
    // Each head works on its 64 dimensions alone: head 5 by itself is head 5 among twelve.
    const Tensor alone = scaled_dot_product_attention(Q.slice(1, 5, 6), K.slice(1, 5, 6), V.slice(1, 5, 6));
    CHECK(difference(scaled_dot_product_attention(Q, K, V).slice(1, 5, 6), alone) < 1e-6);
}

TEST_CASE("S1.07 768 / 12 has 1,769,472 + 589,824 = 2,359,296 parameters, 2,362,368 with biases",
          "[S1.07][source]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(768, 12, rng, {.max_seq_len = 4});
    CHECK(attention.W_qkv.num_parameters() == 1'769'472);
    CHECK(attention.W_out.num_parameters() == 589'824);
    CHECK(attention.num_parameters() == 2'359'296);
    const nn::CausalMultiHeadAttention biased(768, 12, rng, {.max_seq_len = 4, .bias = true});
    CHECK(biased.num_parameters() == 2'362'368);
    for (const std::int64_t num_heads : {1, 2, 64})  // whatever the number of heads
        CHECK(nn::MultiHeadAttention(768, num_heads, rng).num_parameters() == 2'359'296);
}

TEST_CASE("S1.08 one fused projection is three separate ones that hold its column blocks", "[S1.08][source]") {
    Rng rng(1);
    const nn::Linear W_qkv(768, 3 * 768, rng, false);
    Tensor x = random({B, T, 768}, 2, float32).requires_grad_();
    const Tensor fused = W_qkv(x);
    const std::vector<Tensor> weights = chunk(W_qkv.weight, 3, 0), parts = chunk(fused, 3, -1);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(difference(parts[i], linear(x, weights[i].detach().contiguous())) < 1e-5);

    const Tensor seed = random({B, T, 3 * 768}, 3, float32);
    fused.backward(seed);
    const Tensor together = x.grad().clone();
    x.zero_grad();
    const std::vector<Tensor> seeds = chunk(seed, 3, -1);
    for (std::size_t i = 0; i < 3; ++i) linear(x, weights[i].detach()).backward(seeds[i].contiguous());
    CHECK(difference(x.grad(), together) < 1e-4);

    // "Faster" is not by arithmetic: the same multiply-adds run. docs/errata.md has the times.
    CHECK(multiply_adds([&] { W_qkv(x); }) == 3 * B * T * 768 * 768);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(multiply_adds([&] { linear(x, weights[i]); }) == B * T * 768 * 768);
}

TEST_CASE("S1.09 split(3) makes parts of size 3, chunk(3) makes 3 equal parts", "[S1.09][source]") {
    const Tensor qkv = random({B, T, 3 * C});
    const auto of_size_3 = split(qkv, 3, -1), three = chunk(qkv, 3, -1);
    CHECK(of_size_3.size() == 12);  // d_model of them: no Q, K and V
    CHECK(same_bits(of_size_3[1], qkv.slice(-1, 3, 6)));
    REQUIRE(three.size() == 3);
    const auto heads = nn::split_qkv(qkv, H);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(three[i].shape() == Shape{B, T, C});
        CHECK(same_bits(nn::split_heads(three[i], H), heads[i]));
        CHECK(same_bits(split(qkv, C, -1)[i], three[i]));  // what split needs for the same
    }
}

TEST_CASE("S1.10 permute takes all axes at once, transpose exchanges two", "[S1.10][source]") {
    const Tensor x = random({B, T, 3, H, d_k});
    const Tensor moved = x.permute({2, 0, 3, 1, 4});
    CHECK(same_bits(x.transpose(0, 2).transpose(1, 2).transpose(2, 3), moved));  // (2,1,0,3,4), (2,0,1,…), …
    for (std::int64_t t = 0; t < T; ++t)
        for (std::int64_t h = 0; h < H; ++h) CHECK(moved.at({2, 1, h, t, 3}) == x.at({1, t, 2, h, 3}));
    const Tensor K = moved[1];  // (B, H, T, d_k)
    CHECK(same_bits(K.transpose(-2, -1), K.permute({0, 1, 3, 2})));
    CHECK(contains(message_of<ShapeError>([&] { return x.permute({2, 0}); }), "(2, 5, 3, 3, 4)"));
    CHECK_THROWS_AS(x.permute({2, 0, 3, 1, 1}), ShapeError);
    CHECK_THROWS_AS(x.transpose(0, 5), IndexError);
}

namespace {

// The chapter's chain with one step after which the graph is cut, or none. W (3C, C) → (B, T, C).
Tensor chain(const Tensor& W, const Tensor& x, const std::string& cut) {
    const auto step = [&](const char* name, const Tensor& y) { return cut == name ? y.detach() : y; };
    Tensor qkv = step("reshape", linear(x, W).reshape({B, T, 3, H, d_k}));
    qkv = step("permute", qkv.permute({2, 0, 3, 1, 4}));
    const Tensor Q = step("index", qkv[0]), K = step("transpose", qkv[1].transpose(-2, -1));
    const Tensor out = matmul(softmax(matmul(Q, K) / 2, -1), qkv[2]);
    return step("merge", out.permute({0, 2, 1, 3}).reshape({B, T, C}));
}

}  // namespace

TEST_CASE("S1.11 reshape, permute, transpose and indexing pass gradients, and a cut one is seen",
          "[S1.11][source]") {
    const Tensor x = random({B, T, C}, 2), seed = random({B, T, C}, 3);
    const auto W = [] { return random({3 * C, C}).requires_grad_(); };
    const auto checked =
        check::gradcheck("chain", [&](const std::vector<Tensor>& in) { return chain(in[0], in[1], ""); },
                         {W(), x.clone().requires_grad_()});
    INFO(checked.message);
    CHECK(checked.passed);

    const auto block = [&](const std::string& cut, std::int64_t i) {  // the block of Q, K or V in W's gradient
        Tensor weight = W();
        const Tensor y = chain(weight, x, cut);
        if (!y.requires_grad()) return 0.0;
        y.backward(seed);
        return max(abs(weight.grad().slice(0, i * C, (i + 1) * C))).item();
    };
    for (std::int64_t i = 0; i < 3; ++i) {
        CHECK(block("", i) > 1e-2);
        for (const char* cut : {"reshape", "permute", "merge"}) CHECK(block(cut, i) == 0);
        CHECK((block("index", i) == 0) == (i == 0));
        CHECK((block("transpose", i) == 0) == (i == 1));
    }
}

TEST_CASE("S1.13 input, split, heads, concatenation, projection, output: the flow chart step by step",
          "[S1.13][source]") {
    Rng rng(1);
    const auto attention = in_double(nn::MultiHeadAttention(16, 4, rng));
    const Tensor input = random({T, 16});
    const auto [q, k, v] = nn::split_qkv(attention.W_qkv(input), 4);  // split
    std::vector<Tensor> heads;                                        // four heads, each by itself
    for (std::int64_t h = 0; h < 4; ++h) heads.push_back(scaled_dot_product_attention(q[h], k[h], v[h]));
    const Tensor concatenated = cat(heads, -1);  // (T, 16)
    CHECK(same_bits(concatenated, nn::merge_heads(stack(heads))));
    CHECK(difference(attention.W_out(concatenated), attention(input)) < 1e-14);
}

TEST_CASE("the answers to the exercises of the first companion are what its program then gives",
          "[S1.01][S1.04][source]") {
    const std::string page = markdown::read(markdown::root / "docs/sources/1_tensorweaver.md");
    const std::string answers = page.substr(page.find("<summary>Answers</summary>"));
    // As on the page: its seeds, and draws in its order.
    manual_seed(1);
    const nn::Linear W_qkv(C, 3 * C, false), W_out(C, C, false);
    const Tensor x = randn({B, T, C});
    const auto with = [&](std::int64_t num_heads) {
        nn::MultiHeadAttention attention(C, num_heads);
        attention.load_state_dict({{"W_qkv.weight", W_qkv.weight}, {"W_out.weight", W_out.weight}});
        return attention;
    };
    const auto three = with(3), four = with(4);
    CHECK(contains(answers, "largest difference is " + printed(tensor({difference(three(x), four(x))}), 3)));

    manual_seed(1);
    const nn::Linear same_W_qkv(C, 3 * C, false);
    CHECK(same_bits(same_W_qkv.weight, W_qkv.weight));  // 28.6's module is drawn as 28.3's
    const Tensor changed = x.clone();
    changed.select(1, T - 1).fill_(1);
    const Tensor blocked = triu(ones({T, T}), 0);
    const Tensor moved = chapter(three, W_qkv, changed, blocked) - chapter(three, W_qkv, x, blocked);
    CHECK(contains(answers, printed(max(abs(moved), -1).values[0], 3)));

    // At 2C tokens the scores and the weighted sums take as many multiply-adds as the projections.
    const Tensor tokens = randn({2 * C, C});
    CHECK(multiply_adds([&] { (void)three(tokens); }) == 2 * (4 * 2 * C * C * C));
}
