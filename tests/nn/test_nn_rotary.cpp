// Rotary positions: angles, relative positions, gradients, and attention with them.
#include <cmath>

#include "catch.h"
#include "source.h"

using namespace weft;
using source::distance;
using source::random;

TEST_CASE("rotary turns each pair of neighbours by position times its frequency", "[nn][rotary]") {
    const Tensor x = random({3, 6});  // T 3, d 6
    const Tensor y = nn::rotary(x, 5, 100);
    for (std::int64_t t = 0; t < 3; ++t)
        for (std::int64_t i = 0; i < 3; ++i) {
            const double angle = static_cast<double>(5 + t) * std::pow(100, -static_cast<double>(2 * i) / 6);
            const double a = x.at({t, 2 * i}), b = x.at({t, 2 * i + 1});
            CHECK(y.at({t, 2 * i}) == Approx(a * std::cos(angle) - b * std::sin(angle)).margin(1e-14));
            CHECK(y.at({t, 2 * i + 1}) == Approx(a * std::sin(angle) + b * std::cos(angle)).margin(1e-14));
        }
}

TEST_CASE("rotary at position 0 is the identity, a quarter turn swaps, and lengths stay", "[nn][rotary]") {
    const Tensor x = random({2, 3, 1, 8});
    CHECK(source::same_bits(nn::rotary(x), x));
    const double quarter = std::acos(0.0);  // base^(−2/4) = quarter, so pair 1 of position 1 turns by 90°
    const Tensor turned = nn::rotary(tensor({{0, 0, 1, 2}}, float64), 1, 1 / (quarter * quarter));
    CHECK(turned.at({0, 2}) == Approx(-2));
    CHECK(turned.at({0, 3}) == Approx(1));
    const Tensor many = random({2, 3, 50, 8});
    CHECK(distance(sum(nn::rotary(many, 7) * nn::rotary(many, 7), -1), sum(many * many, -1)) < 1e-12);
}

TEST_CASE("scores of rotated queries and keys depend on the distance of their positions alone",
          "[nn][rotary]") {
    const Tensor q = random({1, 16}, 1), k = random({1, 16}, 2);
    const auto score = [&](std::int64_t i, std::int64_t j) {
        return matmul(nn::rotary(q, i), nn::rotary(k, j).T()).item();
    };
    for (std::int64_t i : {0, 1, 5, 40})
        for (std::int64_t j : {0, 3, 17})
            for (std::int64_t shift : {1, 10, 1000})
                CHECK(score(i + shift, j + shift) == Approx(score(i, j)).margin(1e-11));
    CHECK(std::abs(score(3, 0) - score(0, 3)) > 1e-3);  // a direction, not only a distance
    CHECK(std::abs(score(3, 0) - score(4, 0)) > 1e-3);
}

TEST_CASE("rotary of far positions keeps its precision in float32", "[nn][rotary]") {
    const Tensor x = random({4, 8}, 1, float32);
    CHECK(distance(nn::rotary(x, 1000000).to(float64), nn::rotary(x.to(float64), 1000000)) < 1e-6);
}

TEST_CASE("rotary's gradient is right, and it is its own turn back", "[nn][rotary]") {
    const Tensor x = random({2, 3, 4});
    const auto turn = [](const std::vector<Tensor>& in) { return nn::rotary(in[0], 2, 50); };
    const auto first = check::gradcheck("rotary", turn, {x.clone().requires_grad_()});
    CHECK(first.message == "");
    CHECK(check::gradgradcheck("rotary", turn, {x.clone().requires_grad_()}).message == "");
    Tensor leaf = x.clone().requires_grad_();
    const Tensor y = nn::rotary(leaf, 9);
    y.backward(y.detach());  // for a rotation R, Rᵀ R x = x
    CHECK(distance(leaf.grad(), x) < 1e-14);
}

TEST_CASE("rotary takes empty sequences and views, and refuses what has no pairs", "[nn][rotary]") {
    CHECK(nn::rotary(zeros({2, 0, 4})).shape() == Shape{2, 0, 4});
    const Tensor x = random({5, 3, 4});
    CHECK(distance(nn::rotary(x.transpose(0, 1), 1), nn::rotary(x.transpose(0, 1).contiguous(), 1)) == 0);
    CHECK(contains(message_of<ShapeError>([] { (void)nn::rotary(zeros({2, 3})); }), "d even, not (2, 3)"));
    CHECK(contains(message_of<ShapeError>([] { return nn::rotary(zeros({4})); }), "(4,)"));
    CHECK(contains(message_of<ShapeError>([] { return nn::rotary(zeros({2, 0})); }), "(2, 0)"));
    CHECK(contains(message_of<ValueError>([] { return nn::rotary(zeros({2, 4}), -1); }), "-1"));
    CHECK(contains(message_of<ValueError>([] { return nn::rotary(zeros({2, 4}), 0, 0); }), "base"));
    CHECK(contains(message_of<ValueError>([] { return nn::rotary(zeros({2, 4}), 0, std::nan("")); }), "nan"));
    CHECK_THROWS_AS(nn::rotary(zeros({2, 4}, int64)), DTypeError);
}

TEST_CASE("attention with rotary positions turns its queries and keys, and nothing else", "[nn][rotary]") {
    Rng rng(1);
    const auto attention = source::in_double(
        nn::CausalMultiHeadAttention(12, 3, rng, {.max_seq_len = 16, .bias = true, .rotary_base = 100}));
    const Tensor x = random({2, 5, 12}, 3);
    const auto [q, k, v] = nn::split_qkv(attention.W_qkv(x), 3);
    const auto attend = [&, &q = q, &k = k, &v = v](std::int64_t first) {
        const Tensor y = scaled_dot_product_attention(nn::rotary(q, first, 100), nn::rotary(k, first, 100), v,
                                                      {.mask = Mask::causal()});
        return attention.W_out(nn::merge_heads(y));
    };
    CHECK(distance(attention(x), attend(0)) < 1e-14);
    CHECK(distance(attention(x), attend(9)) < 1e-12);  // only distances count
    CHECK(distance(attention.with_weights(x).output, attend(0)) < 1e-14);

    Rng again(1);
    const auto full =
        source::in_double(nn::MultiHeadAttention(12, 3, again, {.bias = true, .rotary_base = 100}));
    CHECK(distance(full(x, Mask::causal()), attend(0)) < 1e-14);  // the same seed, so the same weights
}

TEST_CASE("without rotary positions attention does not see the order of its keys; with them it does",
          "[nn][rotary]") {
    Rng rng(1);
    const auto plain = source::in_double(nn::MultiHeadAttention(8, 2, rng));
    const auto turned =
        source::in_double(nn::MultiHeadAttention(8, 2, rng, {.fused = false, .rotary_base = 10000}));
    const Tensor x = random({1, 6, 8}), backwards = flip(x, 1);
    CHECK(distance(flip(plain(backwards), 1), plain(x)) < 1e-14);
    CHECK(distance(flip(turned(backwards), 1), turned(x)) > 1e-3);
}

TEST_CASE("rotary attention refuses cross-attention, odd widths and senseless bases", "[nn][rotary]") {
    Rng rng(1);
    const nn::MultiHeadAttention attention(8, 2, rng, {.rotary_base = 10000});
    const Tensor x = random({1, 3, 8}, 1, float32), y = random({1, 4, 8}, 2, float32);
    CHECK(contains(message_of<ValueError>([&] { return attention(x, y, y); }),
                   "leave out rotary_base for cross-attention"));
    CHECK(contains(message_of<ValueError>([&] { nn::MultiHeadAttention(6, 2, rng, {.rotary_base = 10000}); }),
                   "MultiHeadAttention: rotary positions turn pairs of columns, but d_k is 3"));
    CHECK(contains(
        message_of<ValueError>([&] { nn::CausalMultiHeadAttention(6, 2, rng, {.rotary_base = 10000}); }),
        "CausalMultiHeadAttention: rotary positions turn pairs of columns, but d_k is 3"));
    CHECK(
        contains(message_of<ValueError>([&] { nn::CausalMultiHeadAttention(8, 2, rng, {.rotary_base = -1}); }),
                 "rotary_base must be finite and above 0, not -1"));
}
