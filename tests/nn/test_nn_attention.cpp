// Multi-head attention: layout of heads, counts, identities, masks, refusals.
// Fused and separate projections become each other.
#include <cmath>

#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 2, T = 5, C = 12, H = 3;

double gap(const Tensor& a, const Tensor& b) { return max(abs(a.detach() - b.detach())).item(); }

Tensor input(std::uint64_t seed = 9, const Shape& shape = {B, T, C}) {
    Rng rng(seed);
    return randn(shape, rng, float64);
}

template <class M>
M in_double(M module) {
    module.to(float64);
    return module;
}

std::vector<double> row(const Tensor& x, std::int64_t b, std::int64_t t) { return x[b][t].to_vector<double>(); }

}  // namespace

TEST_CASE("head h owns the columns from h d_k on, and merging brings them back", "[nn][attention]") {
    const Tensor x = arange(0, 8).reshape({2, 4});  // (T, C)
    const Tensor heads = nn::split_heads(x, 2);     // (H, T, d_k)
    CHECK(heads.shape() == Shape{2, 2, 2});
    CHECK(heads.to_vector<float>() == std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7});
    CHECK(nn::merge_heads(heads).to_vector<float>() == x.to_vector<float>());

    const Tensor batch = input();
    CHECK(nn::split_heads(batch, H).shape() == Shape{B, H, T, C / H});
    CHECK(nn::merge_heads(nn::split_heads(batch, H)).to_vector<double>() == batch.to_vector<double>());
}

TEST_CASE("split_qkv takes Q, K and V from the first, second and third block of columns", "[nn][attention]") {
    const Tensor qkv = input(3, {B, T, 3 * C});
    const auto parts = nn::split_qkv(qkv, H);
    for (std::int64_t i = 0; i < 3; ++i) {
        const Tensor block = qkv.slice(2, i * C, (i + 1) * C);
        CHECK(parts[static_cast<std::size_t>(i)].to_vector<double>() ==
              nn::split_heads(block, H).to_vector<double>());
        const Tensor one = nn::split_qkv(qkv[1], H)[static_cast<std::size_t>(i)];  // unbatched
        CHECK(one.to_vector<double>() == nn::split_heads(block, H)[1].to_vector<double>());
    }
    refuses<ShapeError>("9 equal parts", [&] { nn::split_qkv(zeros({T, C + 1}), H); });
    refuses<ShapeError>("(12,)", [&] { return nn::split_heads(zeros({C}), H); });
    refuses<ShapeError>("(5, 12)", [&] { return nn::merge_heads(zeros({T, C})); });
}

TEST_CASE("parameter counts of 768 / 12 with and without biases", "[nn][attention]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention plain(768, 12, rng, {.max_seq_len = 8});
    CHECK(plain.W_qkv.num_parameters() == 1769472);
    CHECK(plain.W_out.num_parameters() == 589824);
    CHECK(plain.num_parameters() == 2359296);
    CHECK(nn::CausalMultiHeadAttention(768, 12, rng, {.max_seq_len = 8, .bias = true}).num_parameters() ==
          2362368);
    CHECK(nn::MultiHeadAttention(768, 12, rng).num_parameters() == 2359296);
    CHECK(nn::Attention(768, 12, rng, {.bias = true, .fused = false}).num_parameters() == 2362368);
    CHECK(plain.d_k == 64);
}

TEST_CASE("token i of causal attention depends on the tokens up to i alone, to the last bit",
          "[nn][attention]") {
    Rng rng(1);
    const auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng));
    const Tensor x = input(), y = attention(x);
    for (std::int64_t seen = 1; seen < T; ++seen) {
        Tensor other = x.clone();
        other.slice(1, seen, T).fill_(1e6);
        const Tensor changed = attention(other);
        for (std::int64_t b = 0; b < B; ++b) {
            for (std::int64_t t = 0; t < seen; ++t) CHECK(row(changed, b, t) == row(y, b, t));
            CHECK(row(changed, b, seen) != row(y, b, seen));
        }
        CHECK(gap(attention(x.slice(1, 0, seen)), y.slice(1, 0, seen)) < 1e-14);  // the pass over the prefix
    }
}

TEST_CASE("inputs of another width, rank or length are refused by name", "[nn][attention]") {
    Rng rng(1);
    const nn::MultiHeadAttention attention(C, H, rng);
    const Tensor x = zeros({B, T, C});
    refuses<ShapeError>("query must be (B, T, 12)", [&] { (void)attention(zeros({B, T, C + 1})); });
    refuses<ShapeError>("key must be", [&] { return attention(x, zeros({C}), x); });
    CHECK_THROWS_AS(attention(x, zeros({B, T, C}), zeros({B, T + 1, C})), ShapeError);
    CHECK_THROWS_AS(attention(x, Mask::blocked(full({T, T + 1}, 0, boolean))), ShapeError);
}

TEST_CASE("MultiHeadAttention's dropout acts in training only", "[nn][attention]") {
    Rng rng(1), same(1);
    auto attention = in_double(nn::MultiHeadAttention(C, H, rng, {.dropout = 0.5}));
    const auto without = in_double(nn::MultiHeadAttention(C, H, same));
    const Tensor x = input(), plain = without(x);
    CHECK(gap(attention(x), plain) > 1e-3);
    CHECK(gap(attention(x), attention(x)) > 1e-3);
    attention.eval();
    CHECK(gap(attention(x), plain) < 1e-14);
}

TEST_CASE("attention dropout acts on the weights in training only", "[nn][attention]") {
    Rng rng(1);
    auto attention = in_double(nn::CausalMultiHeadAttention(C, H, rng, {.dropout = 0.5}));
    const Tensor x = input();
    const auto first = attention(x).to_vector<double>();
    CHECK(attention(x).to_vector<double>() != first);
    const Tensor weights = attention.with_weights(x).weights;
    const Tensor kept = weights * (weights > 0).to(float64);
    attention.eval();
    const Tensor plain = attention.with_weights(x).weights;
    CHECK(attention(x).to_vector<double>() == attention(x).to_vector<double>());
    std::int64_t dropped = 0;
    const auto kept_values = kept.to_vector<double>(), plain_values = plain.to_vector<double>();
    for (std::size_t i = 0; i < plain_values.size(); ++i) {
        if (plain_values[i] == 0) continue;
        if (kept_values[i] == 0)
            ++dropped;
        else
            CHECK(kept_values[i] == Approx(2 * plain_values[i]));
    }
    CHECK(dropped > 20);  // about 45 of 90
    CHECK(dropped < 70);
}

TEST_CASE("fused and separate states become each other, to the last bit, in a whole model", "[nn][attention]") {
    Rng rng(1);
    const lm::GPT model(
        {.vocab_size = 5, .block_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8, .bias = true}, rng);
    const nn::NamedTensors state = model.state_dict(), separate = nn::separate_state(state);
    CHECK(separate.size() == state.size() + 2 * 2 * 2);  // two more weights and biases in each block
    std::size_t found = 0;
    for (const auto& [name, value] : separate) {
        CHECK_FALSE(contains(name, "W_qkv"));
        CHECK_FALSE(value.requires_grad());
        if (name == "blocks.1.attn.W_k.weight") {
            CHECK(same_bits(value, model.blocks[1].attn.W_in[0].weight.detach().slice(0, 8, 16)));
            ++found;
        }
        if (name == "blocks.0.attn.W_v.bias") {
            CHECK(same_bits(value, model.blocks[0].attn.W_in[0].bias.detach().slice(0, 16, 24)));
            ++found;
        }
    }
    CHECK(found == 2);
    const nn::NamedTensors fused = nn::fused_state(separate);
    REQUIRE(fused.size() == state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
        CHECK(fused[i].first == state[i].first);
        CHECK(same_bits(fused[i].second, state[i].second.detach()));
    }
}

TEST_CASE("converted states of grouped heads and widths of their own give the same attention",
          "[nn][attention]") {
    Rng rng(1);
    const nn::AttentionConfig fused{.bias = true, .num_kv_heads = 2, .d_k = 3, .d_v = 5};
    nn::AttentionConfig separate = fused;
    separate.fused = false;
    nn::Attention a(8, 4, rng, fused), b(8, 4, rng, separate);
    const Tensor x = randn({2, 5, 8}, rng), y = randn({2, 6, 8}, rng);
    CHECK(gap(a(x), b(x)) > 1e-2);
    b.load_state_dict(nn::separate_state(a.state_dict(), {4 * 3, 2 * 3, 2 * 5}));
    CHECK(gap(a(x), b(x)) < 1e-6);
    CHECK(gap(a(x, y, y), b(x, y, y)) < 1e-6);
    nn::Attention c(8, 4, rng, fused);
    c.load_state_dict(nn::fused_state(b.state_dict()));
    CHECK(same_bits(c(x), a(x)));
}

TEST_CASE("states that cannot be fused or separated are refused by name", "[nn][attention]") {
    const Tensor w = zeros({4, 4});
    const auto fused = [](const nn::NamedTensors& state) {
        return message_of<ValueError>([&] { nn::fused_state(state); });
    };
    CHECK(contains(fused({{"a.W_q.weight", w}, {"a.W_k.weight", w}}),
                   "'a.W_q.weight' is there without 'a.W_v.weight'; add it"));
    CHECK(contains(fused({{"W_k.weight", w}}), "there without 'W_q.weight'; add it"));
    CHECK(contains(fused({{"W_q.weight", w}, {"W_k.weight", w}, {"W_v.weight", w}, {"W_qkv.weight", w}}),
                   "'W_qkv.weight' are there"));
    refuses<ShapeError>(
        "'W_q.weight' (4, 4) and its key or value of (4, 3) read tokens of different widths", [&] {
            nn::fused_state({{"W_q.weight", w}, {"W_k.weight", zeros({4, 3})}, {"W_v.weight", w}});
        });
    refuses<ShapeError>("'b.W_qkv.weight' (4, 4) has 4 rows, not three equal parts", [&] {
        nn::separate_state({{"b.W_qkv.weight", w}});
    });
    refuses<ShapeError>("has 4 rows, not 2 + 1 + 2", [&] {
        nn::separate_state({{"W_qkv.weight", w}}, {2, 1, 2});
    });
    CHECK_THROWS_AS(nn::separate_state({{"W_qkv.weight", w}}, {4}), ValueError);
    CHECK_THROWS_AS(nn::separate_state({{"W_qkv.weight", w}}, {4, 1, -1}), ValueError);
}
