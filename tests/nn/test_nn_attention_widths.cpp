// Attention beyond the usual sizes: grouped heads, widths of their own, biases, masks of each sample,
// against the textbook's sum over heads.
#include "refusal.h"
#include "source.h"

using namespace weft;
using source::difference;
using source::in_double;
using source::random;

namespace {

constexpr std::int64_t B = 2, T = 4, S = 6, C = 12, H = 6;

// Head by head from the rows of the separate projections, as the paper writes it: Σ_h softmax(q_h k_hᵀ / √d_k,
// −∞ where blocked) v_h W_O,h + b. query (T, C), key (S, ·), value (S, ·) of one sample, blocked (T, S).
Tensor textbook(const nn::Attention& a, const Tensor& query, const Tensor& key, const Tensor& value,
                const Tensor& blocked) {
    const auto rows = [](const nn::Linear& layer, const Tensor& x, std::int64_t from, std::int64_t n) {
        const Tensor y = matmul(x, layer.weight.slice(0, from, from + n).T());
        return layer.bias.defined() ? y + layer.bias.slice(0, from, from + n) : y;
    };
    Tensor y = zeros({query.size(0), a.d_model}, float64);
    for (std::int64_t h = 0; h < a.num_heads; ++h) {
        const std::int64_t g =
            h * a.num_kv_heads / a.num_heads;  // the head of keys and values that serves head h
        const Tensor q = rows(a.W_in[0], query, h * a.d_k, a.d_k), k = rows(a.W_in[1], key, g * a.d_k, a.d_k),
                     v = rows(a.W_in[2], value, g * a.d_v, a.d_v);
        const Tensor scores = matmul(q, k.T()) / std::sqrt(static_cast<double>(a.d_k));
        const Tensor weights = softmax(masked_fill(scores, blocked, -INFINITY), -1);  // (T, S)
        y = y + matmul(matmul(weights, v), a.W_out.weight.slice(1, h * a.d_v, (h + 1) * a.d_v).T());
    }
    return a.W_out.bias.defined() ? y + a.W_out.bias : y;
}

nn::Attention make(const nn::AttentionConfig& options) {
    Rng rng(1);
    return in_double(nn::Attention(C, H, rng, options));
}

Tensor no_block() { return zeros({T, S}, boolean); }

}  // namespace

TEST_CASE("attention of every width and number of key heads is the textbook's sum over heads",
          "[nn][attention]") {
    int checked = 0;
    for (const std::int64_t num_kv_heads : {0, 1, 2, 3, 6})
        for (const std::int64_t d_k : {0, 1, 5})
            for (const std::int64_t d_v : {0, 3, 7})
                for (const bool bias : {false, true}) {
                    const bool wide = checked++ % 2 == 0;  // keys and values of other widths
                    const auto a = make({.bias = bias,
                                         .fused = false,
                                         .num_kv_heads = num_kv_heads,
                                         .d_k = d_k,
                                         .d_v = d_v,
                                         .kdim = wide ? 7 : 0,
                                         .vdim = wide ? 5 : 0});
                    INFO("G " << num_kv_heads << ", d_k " << d_k << ", d_v " << d_v << ", bias " << bias);
                    const Tensor query = random({B, T, C}, 1), key = random({B, S, a.kdim}, 2),
                                 value = random({B, S, a.vdim}, 3);
                    const Tensor y = a(query, key, value);
                    for (std::int64_t b = 0; b < B; ++b) {
                        const Tensor expected = textbook(a, query[b], key[b], value[b], no_block());
                        CHECK(difference(y[b], expected) < 1e-13);
                        CHECK(difference(a(query[b], key[b], value[b]), expected) < 1e-13);  // unbatched
                    }
                    const auto [again, weights] = a.with_weights(query, key, value);
                    CHECK(difference(again, y) < 1e-13);
                    CHECK(difference(sum(weights, -1), ones({B, H, T}, float64)) < 1e-13);
                }
}

TEST_CASE("each sample has its own mask, each head may have one, and padding is of each sample's keys",
          "[nn][attention]") {
    const auto a = make({.bias = true, .fused = false, .num_kv_heads = 2, .d_v = 3});
    const Tensor query = random({B, T, C}, 1), key = random({B, S, C}, 2);
    Rng rng(5);
    Tensor blocked = rand({B, T, S}, rng) < 0.5;
    blocked.select(2, 0).fill_(0);  // every row sees something, so that the textbook has a value
    const Tensor y = a(query, key, key, Mask::blocked(blocked)),
                 padded = a(query, key, key, Mask::padding({2, 5}));
    for (std::int64_t b = 0; b < B; ++b) {
        const Tensor keys = key[b];
        CHECK(difference(y[b], textbook(a, query[b], keys, keys, blocked[b])) < 1e-13);
        CHECK(difference(a(query[b], keys, keys, Mask::blocked(blocked[b])), y[b]) < 1e-13);
        const std::int64_t length = b == 0 ? 2 : 5;
        const Tensor real = keys.slice(0, 0, length);
        CHECK(difference(padded[b], textbook(a, query[b], real, real, zeros({T, length}, boolean))) < 1e-13);
        CHECK(difference(a(query[b], keys, keys, Mask::padding({length})), padded[b]) < 1e-13);  // one sample
    }
    const Tensor of_heads = blocked.unsqueeze(1).expand({B, H, T, S});
    CHECK(difference(a(query, key, key, Mask::blocked(of_heads)), y) < 1e-14);
}

TEST_CASE("gradients of grouped heads and widths of their own are right", "[nn][attention]") {
    for (const bool fused : {true, false}) {
        const auto a =
            make({.bias = true, .fused = fused, .num_kv_heads = 3, .d_k = 2, .d_v = 3, .rotary_base = 10});
        const auto report = check::gradcheck(
            "attention", [&](const std::vector<Tensor>& in) { return a(in[0], Mask::causal()); },
            {random({1, 3, C}, 1).requires_grad_()}, {.parameters = a.parameters()});
        CHECK(report.message == "");
    }
    const auto cross = make({.fused = false, .num_kv_heads = 2, .d_v = 1, .kdim = 3, .vdim = 4});
    const auto report = check::gradcheck(
        "attention",
        [&](const std::vector<Tensor>& in) { return cross(in[0], in[1], in[2], Mask::padding({3})); },
        {random({1, 2, C}, 1).requires_grad_(), random({1, 4, 3}, 2).requires_grad_(),
         random({1, 4, 4}, 3).requires_grad_()},
        {.parameters = cross.parameters()});
    CHECK(report.message == "");
}

TEST_CASE("sizes show in the weights, and nothing asked for is the usual", "[nn][attention]") {
    const auto a = make({.fused = false, .num_kv_heads = 2, .d_k = 5, .d_v = 3, .kdim = 7, .vdim = 9});
    CHECK(a.W_in[0].weight.shape() == Shape{6 * 5, 12});
    CHECK(a.W_in[1].weight.shape() == Shape{2 * 5, 7});
    CHECK(a.W_in[2].weight.shape() == Shape{2 * 3, 9});
    CHECK(a.W_out.weight.shape() == Shape{12, 6 * 3});
    CHECK(make({.num_kv_heads = 2, .d_k = 5, .d_v = 3}).W_in[0].weight.shape() ==
          Shape{6 * 5 + 2 * 5 + 2 * 3, 12});
    const auto usual = make({});
    CHECK((usual.num_kv_heads == H && usual.d_k == 2 && usual.d_v == 2 && usual.kdim == C && usual.vdim == C));
    Rng rng(1);
    CHECK(nn::Attention(10, 3, rng, {.d_k = 4, .d_v = 4}).W_in[0].weight.shape() == Shape{36, 10});
    const nn::Attention causal(C, H, rng, {.causal = true, .max_seq_len = 8, .num_kv_heads = 2});
    CHECK(causal.W_in[0].weight.shape() == Shape{6 * 2 + 2 * 2 + 2 * 2, 12});
}

TEST_CASE("split_qkv cuts grouped projections into the columns of Q, of K and of V", "[nn][attention]") {
    const Tensor qkv = random({B, T, (4 + 2 * 2) * 3});
    const auto [q, k, v] = nn::split_qkv(qkv, 4, 2);
    CHECK(same_bits(q, nn::split_heads(qkv.slice(2, 0, 12), 4)));
    CHECK(same_bits(k, nn::split_heads(qkv.slice(2, 12, 18), 2)));
    CHECK(same_bits(v, nn::split_heads(qkv.slice(2, 18, 24), 2)));
    refuses<ShapeError>("(2, 4, 24) does not divide into 10", [&] { nn::split_qkv(qkv, 4, 3); });
}
