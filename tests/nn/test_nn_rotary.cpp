// Rotary positions: angles, relative positions, gradients, and attention with them.
#include <cmath>

#include "refusal.h"
#include "source.h"

using namespace weft;
using source::difference;
using source::random;

TEST_CASE("rotary of far positions keeps its precision in float32", "[nn][rotary]") {
    const Tensor x = random({4, 8}, 1, float32);
    CHECK(difference(nn::rotary(x, 1000000).to(float64), nn::rotary(x.to(float64), 1000000)) < 1e-6);
}

TEST_CASE("rotary takes empty sequences and views, and refuses what has no pairs", "[nn][rotary]") {
    CHECK(nn::rotary(zeros({2, 0, 4})).shape() == Shape{2, 0, 4});
    const Tensor x = random({5, 3, 4});
    CHECK(difference(nn::rotary(x.transpose(0, 1), 1), nn::rotary(x.transpose(0, 1).contiguous(), 1)) == 0);
    refuses<ShapeError>("d even, not (2, 3)", [] { (void)nn::rotary(zeros({2, 3})); });
    refuses<ShapeError>("(4,)", [] { return nn::rotary(zeros({4})); });
    refuses<ShapeError>("(2, 0)", [] { return nn::rotary(zeros({2, 0})); });
    refuses<ValueError>("rotary: first_position must be at least 0, not -1", [] {
        nn::rotary(zeros({2, 4}), -1);
    });
    refuses<ValueError>("rotary: the base is 0; it must be finite and above 0", [] {
        nn::rotary(zeros({2, 4}), 0, 0);
    });
    refuses<ValueError>("nan", [] { return nn::rotary(zeros({2, 4}), 0, std::nan("")); });
    refuses<DTypeError>("rotary: takes float32 or float64, not int64", [] {
        nn::rotary(zeros({2, 4}, int64));
    });
}

TEST_CASE("attention with rotary positions turns its queries and keys, and nothing else", "[nn][rotary]") {
    Rng rng(1);
    const auto attention = source::in_double(
        nn::Attention(12, 3, rng, {.causal = true, .max_seq_len = 16, .bias = true, .rotary_base = 100}));
    const Tensor x = random({2, 5, 12}, 3);
    const auto [q, k, v] = nn::split_qkv(attention.W_in[0](x), 3);
    const auto attend = [&, &q = q, &k = k, &v = v](std::int64_t first) {
        const Tensor y = scaled_dot_product_attention(nn::rotary(q, first, 100), nn::rotary(k, first, 100), v,
                                                      {.mask = Mask::causal()});
        return attention.W_out(nn::merge_heads(y));
    };
    CHECK(difference(attention(x), attend(0)) < 1e-14);
    CHECK(difference(attention(x), attend(9)) < 1e-12);  // only distances count
    CHECK(difference(attention.with_weights(x).output, attend(0)) < 1e-14);

    Rng again(1);
    const auto full = source::in_double(nn::Attention(12, 3, again, {.bias = true, .rotary_base = 100}));
    CHECK(difference(full(x, Mask::causal()), attend(0)) < 1e-14);  // the same seed, so the same weights
}

TEST_CASE("rotary attention refuses cross-attention", "[nn][rotary]") {
    Rng rng(1);
    const nn::Attention attention(8, 2, rng, {.rotary_base = 10000});
    const Tensor x = random({1, 3, 8}, 1, float32), y = random({1, 4, 8}, 2, float32);
    refuses<ValueError>("leave out rotary_base for cross-attention", [&] { return attention(x, y, y); });
}

TEST_CASE("pairs of halves are pairs of neighbours in another order, and columns beyond the width stay",
          "[nn][rotary]") {
    const Tensor x = random({2, 3, 8});
    const Tensor order = tensor({0, 4, 1, 5, 2, 6, 3, 7}, int64);  // neighbours of halves
    const Tensor halves = nn::rotary(x, 3, nn::RotaryOptions{.base = 50, .pairs = nn::RotaryPairs::halves});
    CHECK(difference(index_select(halves, -1, order), nn::rotary(index_select(x, -1, order), 3, 50)) < 1e-15);
    for (const nn::RotaryPairs pairs : {nn::RotaryPairs::neighbours, nn::RotaryPairs::halves}) {
        const Tensor part = nn::rotary(x, 3, nn::RotaryOptions{.base = 50, .pairs = pairs, .width = 4});
        CHECK(same_bits(part.slice(-1, 4, 8), x.slice(-1, 4, 8)));
        CHECK(same_bits(part.slice(-1, 0, 4),
                        nn::rotary(x.slice(-1, 0, 4), 3, nn::RotaryOptions{.base = 50, .pairs = pairs})));
        const auto turn = [&](const std::vector<Tensor>& in) {
            return nn::rotary(in[0], 2, nn::RotaryOptions{.base = 50, .pairs = pairs, .width = 4});
        };
        CHECK(check::gradcheck("rotary", turn, {random({2, 3, 6}).requires_grad_()}).message == "");
        CHECK(check::gradgradcheck("rotary", turn, {random({2, 3, 6}).requires_grad_()}).message == "");
    }
    const nn::RotaryTable table = nn::rotary_table(0, 3, 8, {}, float64);
    refuses<ShapeError>("takes (…, 3, d) with d at least 8", [&] { (void)nn::rotary(random({4, 8}), table); });
    refuses<ValueError>("a width of 3 of 8", [] { (void)nn::rotary_table(0, 3, 8, {.width = 3}, float64); });
    const auto turn = [&](const Tensor& cos, const Tensor& sin, DType dtype = float64) {
        return [=] { return nn::rotary(zeros({3, 8}, dtype), {cos, sin, nn::RotaryPairs::halves}); };
    };
    const Tensor &c = table.cos, &s = table.sin;
    refuses<ShapeError>("cosines (3, 4) and sines (3, 2); both", turn(c, s.slice(1, 0, 2)));
    refuses<ShapeError>("cosines (4,) and sines (4,)", turn(c[0], s[0]));
    refuses<DTypeError>("x is float32, cosines float64, sines float64; all must be float32, or all float64",
                        turn(c, s, float32));
    refuses<DTypeError>("sines float32", turn(c, s.to(float32)));
    refuses<DTypeError>("x is int64", turn(c.to(int64), s.to(int64), int64));
}

TEST_CASE("rotary at once is what its small operations are, and a table that is learned has gradients",
          "[nn][rotary]") {
    for (const DType dtype : {float32, float64})
        for (const nn::RotaryPairs pairs : {nn::RotaryPairs::neighbours, nn::RotaryPairs::halves})
            for (const std::int64_t width : {2, 6, 32, 34, 66})
                for (const std::int64_t rest : {0, 3}) {
                    const Tensor
                        x = random({2, 150, 3, width + rest}, 1, dtype).transpose(1, 2).requires_grad_(),
                        dy = random(x.shape(), 2, dtype);
                    nn::RotaryTable table =
                        nn::rotary_table(7, 150, width + rest, {.pairs = pairs, .width = width}, dtype);
                    const auto both = [&] {
                        const Tensor y = nn::rotary(x, table);
                        std::vector<Tensor> all = grad({y}, {x}, {dy});
                        all.push_back(y);
                        return all;
                    };
                    const std::vector<Tensor> fast = both();
                    table.cos.requires_grad_(), table.sin.requires_grad_();
                    const auto learned = grad({nn::rotary(x, table)}, {x, table.cos, table.sin}, {dy});
                    const Plain readable(Plain::operations);
                    const std::vector<Tensor> slow = both();
                    const double tolerance = dtype == float32 ? 2e-6 : 1e-14;
                    for (std::size_t i = 0; i < 2; ++i) CHECK(difference(fast[i], slow[i]) < tolerance);
                    const auto expected = grad({nn::rotary(x, table)}, {x, table.cos, table.sin}, {dy});
                    for (std::size_t i = 0; i < 3; ++i) CHECK(same_bits(learned[i], expected[i]));
                }
}

TEST_CASE("scalings change the rates as their papers say", "[nn][rotary]") {
    // The angles of position 1 are the rates; their cosines tell them for small ones.
    const auto rates = [](nn::RotaryScaling scaling, std::int64_t length = 1) {
        const nn::RotaryTable t =
            nn::rotary_table(1, 1, 8, {.base = 10000, .scaling = scaling}, float64, length);
        std::vector<double> found;
        for (std::int64_t i = 0; i < 4; ++i) found.push_back(std::atan2(t.sin.at({0, i}), t.cos.at({0, i})));
        return std::pair(found, std::hypot(t.sin.at({0, 0}), t.cos.at({0, 0})));
    };
    using Scaling = nn::RotaryScaling;
    const std::vector<double> plain = rates({}).first;  // 1, 0.1, 0.01, 0.001
    for (std::size_t i = 0; i < 4; ++i) CHECK(plain[i] == Approx(std::pow(10, -static_cast<double>(i))));
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(rates({.kind = Scaling::linear, .factor = 4}).first[i] == Approx(plain[i] / 4));
    const Scaling dynamic{.kind = Scaling::dynamic, .factor = 2, .original_length = 10};
    CHECK(rates(dynamic, 10).first == plain);
    for (std::size_t i = 0; i < 4; ++i)  // base · 3^(8/6), as 2 · 20/10 − 1 = 3
        CHECK(rates(dynamic, 20).first[i] ==
              Approx(std::pow(10000 * std::pow(3, 8.0 / 6), -static_cast<double>(i) / 4)));
    const Scaling longrope{.kind = Scaling::longrope,
                           .factor = 4,
                           .original_length = 10,
                           .short_factor = {1, 1, 2, 2},
                           .long_factor = {1, 2, 3, 4}};
    CHECK(rates(longrope, 10).first[2] == Approx(plain[2] / 2));
    CHECK(rates(longrope, 11).first[2] == Approx(plain[2] / 3));
    CHECK(rates(longrope, 11).second == Approx(std::sqrt(1 + std::log(4) / std::log(10))));
    // llama3: 8192 tokens; wavelengths 6.28, 62.8, 628 and 6283 against 8192 and 2048: the last is in between.
    const auto [llama, one] = rates({.kind = Scaling::llama3, .factor = 8, .original_length = 8192});
    const double share = (8192 * plain[3] / (2 * std::acos(-1)) - 1) / 3;
    CHECK(llama[2] == Approx(plain[2]));
    CHECK(llama[3] == Approx(share * plain[3] + (1 - share) * plain[3] / 8));
    CHECK(one == Approx(1));
    const auto [yarn, factor] = rates({.kind = Scaling::yarn, .factor = 16, .original_length = 4096});
    CHECK(factor == Approx(0.1 * std::log(16) + 1));
    CHECK(yarn[0] == Approx(plain[0]));
    CHECK(yarn[3] == Approx(plain[3] / 16));
    for (const Scaling& bad :
         {Scaling{.kind = Scaling::linear, .factor = 0}, Scaling{.kind = Scaling::yarn, .factor = 2},
          Scaling{.kind = Scaling::yarn, .factor = 2, .original_length = 9, .beta_fast = 0.5},
          Scaling{.kind = Scaling::yarn, .factor = 2, .original_length = 9, .attention_factor = -1}})
        CHECK_THROWS_AS(rates(bad), ValueError);
    CHECK_THROWS_AS(nn::rotary_table(0, 1, 2, {.scaling = dynamic}, float64), ValueError);
}
