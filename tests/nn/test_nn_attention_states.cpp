// Fused and separate projections become each other.
#include "golden/golden.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

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
            CHECK(same_bits(value, model.blocks[1].attn.W_qkv.weight.detach().slice(0, 8, 16)));
            ++found;
        }
        if (name == "blocks.0.attn.W_v.bias") {
            CHECK(same_bits(value, model.blocks[0].attn.W_qkv.bias.detach().slice(0, 16, 24)));
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
    nn::MultiHeadAttention a(8, 4, rng, fused), b(8, 4, rng, separate);
    const Tensor x = randn({2, 5, 8}, rng), y = randn({2, 6, 8}, rng);
    CHECK(distance(a(x), b(x)) > 1e-2);
    b.load_state_dict(nn::separate_state(a.state_dict(), {4 * 3, 2 * 3, 2 * 5}));
    CHECK(distance(a(x), b(x)) < 1e-6);
    CHECK(distance(a(x, y, y), b(x, y, y)) < 1e-6);
    nn::MultiHeadAttention c(8, 4, rng, fused);
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
