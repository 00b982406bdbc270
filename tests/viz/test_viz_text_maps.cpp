// Attention maps for a terminal, and masks as grids.
#include <cmath>
#include <limits>

#include "refusal.h"
#include "weft/base/text.h"
#include "weft/viz/attention_map.h"
#include "weft/weft.h"

using namespace weft;

namespace {
const std::vector<std::string> words = {"The", "cat", "sat"};
}

TEST_CASE("a map has a line for each query and a bar for each key", "[viz][maps]") {
    const Tensor weights = tensor({{1, 0, 0}, {0.6, 0.4, 0}, {0.1, 0.2, 0.7}});
    CHECK(viz::attention_text(weights, {.queries = words, .title = "one head"}) ==
          "one head\n"
          "    The cat sat\n"
          "The [█▁▁]\n"
          "cat [█▆▁]\n"
          "sat [▂▃█]\n"
          "▁▂▃▄▅▆▇█ eighths of the row's largest weight\n");
}

TEST_CASE("bars change at exactly the eighths of the largest weight of a row, or of the top", "[viz][maps]") {
    std::vector<double> below, from;
    for (int i = 0; i < 8; ++i) from.push_back(i / 8.0), below.push_back((i + 1) / 8.0 - 1e-12);
    below.push_back(1), from.push_back(1);
    const Tensor rows = stack({from_vector(below, {9}), from_vector(from, {9})});  // (2, 9)
    const std::string expected = "1 [▁▂▃▄▅▆▇██]\n2 [▁▂▃▄▅▆▇██]\n▁▂▃▄▅▆▇█ eighths of ";
    CHECK(contains(viz::attention_text(rows), expected + "the row's largest weight\n"));
    CHECK(contains(viz::attention_text(rows * 0.25), expected + "the row's largest weight\n"));
    CHECK(contains(viz::attention_text(rows * 0.25, {.top = 0.25}), expected + "0.25\n"));
    CHECK(contains(viz::attention_text(tensor({{0.1, 0.2}, {0.01, 0.02}})), "1 [▅█]\n2 [▅█]\n"));
    CHECK(contains(viz::attention_text(tensor({{0.1, 0.2}, {0.01, 0.02}}), {.top = 1}), "1 [▁▂]\n2 [▁▁]\n"));
    CHECK(contains(viz::attention_text(tensor({{3.0, 0.0}}), {.top = 1}), "1 [█▁]\n"));
    CHECK(contains(viz::attention_text(zeros({1, 2})), "1 [▁▁]\n"));
    CHECK(contains(viz::attention_text(zeros({1, 0})), "1 []\n"));
}

TEST_CASE("every code point is taken as one, and half of one as bytes", "[viz][maps]") {
    const auto utf8 = [](std::uint32_t point) {
        std::string bytes;
        for (; bytes.empty() || point >= 0x40u >> bytes.size(); point >>= 6)
            bytes.insert(bytes.begin(), static_cast<char>(0x80 | (point & 0x3F)));
        return static_cast<char>(0xFF00 >> (bytes.size() + 1) | point) + bytes;  // as many ones as bytes
    };
    for (std::uint32_t point = 0xAE; point <= 0x10FFFF; point += point < 0x3000 || point > 0x10FF00 ? 1 : 61) {
        if (point >= 0xD800 && point < 0xE000) continue;  // no code points of a text
        const std::string text = utf8(point);
        CAPTURE(point);
        if (display_width(text) > 2) CHECK(viz::visible(text).starts_with("\\u"));
        if (contains(viz::visible(text), "\\x")) FAIL("as bytes: " << viz::visible(text));
        if (viz::visible(text.substr(0, text.size() - 1)).substr(0, 2) != "\\x")
            FAIL("half of it is taken as one");
    }
}

TEST_CASE("a blocked cell is not a zero weight, and one that leaks is marked", "[viz][maps]") {
    const Tensor good = tensor({{1, 0, 0}, {0, 1, 0}, {0.5, 0, 0.5}});
    const std::string map = viz::attention_text(good, {.mask = Mask::causal()});
    CHECK(contains(map, "1 [█··]\n2 [▁█·]\n3 [█▁█]\n"));
    CHECK(contains(map, "   · blocked\n"));
    CHECK_FALSE(contains(map, "!"));
    const std::string bad = viz::attention_text(tensor({{0.5, 0.5}, {0.5, 0.5}}), {.mask = Mask::causal()});
    CHECK(contains(bad, "1 [█!]\n2 [██]\n"));
    CHECK(contains(bad, "   ! blocked, yet above 0\n"));
}

TEST_CASE("every head has its own map and its own mask", "[viz][maps]") {
    const Tensor weights = stack({eye(2), flip(eye(2), 1)});                  // (2, 2, 2)
    const Tensor blocked = stack({eye(2) < 0.5, eye(2) > 0.5}).unsqueeze(0);  // (1, 2, 2, 2)
    CHECK(contains(viz::attention_text(weights, {.mask = Mask::blocked(blocked)}),
                   "Head 1:\n  1 2\n1 [█·]\n2 [·█]\n\nHead 2:\n  1 2\n1 [·█]\n2 [█·]\n"));
    CHECK(viz::attention_text(weights.unsqueeze(0)) == viz::attention_text(weights));
    CHECK(viz::attention_text(weights.to(float64)) == viz::attention_text(weights));
}

TEST_CASE("in wide maps a column is as wide as its label on a terminal", "[viz][maps]") {
    CHECK(contains(viz::attention_text(tensor({{1, 0.5, 0}}),
                                       {.queries = {"naïve"}, .keys = {"a", "猫", "日本"}, .wide = true}),
                   "       a 猫 日本\n"
                   "naïve [█ ▅▅ ▁▁▁▁]\n"));
}

TEST_CASE("invisible characters of a token are shown escaped", "[viz][maps]") {
    CHECK(viz::visible(" the") == "␣the");
    CHECK(viz::visible("New York ") == "New York␣");
    CHECK(viz::visible("  ") == "␣␣");
    CHECK(viz::visible("a\n\tb") == "a↵⇥b");
    CHECK(viz::visible(std::string("\x1b[31m\0", 6)) == "\\x1b[31m\\x00");
    CHECK(viz::visible("naïve 猫 🙂") == "naïve 猫 🙂");
    CHECK(viz::visible("a\u202e\u200bb") == "a\\u202e\\u200bb");
    // Not UTF-8: a lone byte, an overlong slash, a surrogate, half a character, beyond the last code point.
    CHECK(viz::visible("\xff") == "\\xff");
    CHECK(viz::visible("\xc0\xaf") == "\\xc0\\xaf");
    CHECK(viz::visible("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");
    CHECK(viz::visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");
    CHECK(viz::visible("\xe7\x8c") == "\\xe7\\x8c");
    CHECK(viz::visible("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    CHECK(display_width("naïve") == 5);
    CHECK(display_width("e\u0301") == 1);
    CHECK(display_width("日本語🙂") == 8);
    CHECK(viz::truncated("日本語", 6) == "日本語");
    CHECK(viz::truncated("日本語", 5) == "日本…");
    CHECK(viz::truncated("日本語", 4) == "日…");
}

TEST_CASE("malformed attention maps are refused", "[viz][maps]") {
    const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
    using viz::attention_text;
    CHECK(
        message_of<ShapeError>([] { attention_text(zeros({3})); }) ==
        "attention_text: weights of shape (3,); expected (T, S), (H, T, S) or (1, H, T, S): select one sample "
        "with "
        "weights[b]");
    refuses<ShapeError>("(2, 1, 3, 3)", [] { attention_text(zeros({2, 1, 3, 3})); });
    CHECK(message_of<ShapeError>([] {
              attention_text(zeros({3, 2}), {.queries = {"a", "b"}});
          }) == "attention_text: 2 labels for 3 queries; give one for each, or none");
    refuses<ShapeError>("2 keys", [] { attention_text(zeros({1, 2}), {.keys = {"a"}}); });
    refuses<ShapeError>("(3, 3)", [] {
        attention_text(zeros({2, 2}), {.mask = Mask::blocked(zeros({3, 3}, boolean))});
    });
    refuses<DTypeError>("int64", [] { attention_text(zeros({2, 2}, int64)); });
    CHECK(message_of<ValueError>([&] {
              attention_text(tensor({{0, 0}, {0, nan}}));
          }) ==
          "attention_text: the weight at (query, key) = (1, 1) is nan; weights are finite and at least 0 "
          "(apply softmax to scores first)");
    refuses<ValueError>("is inf", [&] { attention_text(tensor({{inf}})); });
    refuses<ValueError>("(query, key) = (0, 1) is -0.5", [] { attention_text(tensor({{1, -0.5}})); });
    refuses<ValueError>("top = -1", [] { attention_text(zeros({1, 1}), {.top = -1}); });
    refuses<ValueError>("top = nan", [&] { attention_text(zeros({1, 1}), {.top = nan}); });
    CHECK(attention_text(zeros({0, 0})) == " \n▁▂▃▄▅▆▇█ eighths of the row's largest weight\n");
}

TEST_CASE("the weights of a run come layer by layer, one softmax each", "[viz][maps]") {
    Rng rng(1);
    lm::GPT model(
        {.vocab_size = 7, .block_size = 5, .num_layers = 3, .num_heads = 2, .d_model = 8, .dropout = 0.5}, rng);
    const Tensor ids = randint(0, 7, {2, 5}, rng);
    const auto weights = viz::attention_weights(model, ids);  // in training: before dropout
    REQUIRE(weights.size() == 3);
    for (const Tensor& w : weights) {
        CHECK(w.shape() == Shape{2, 2, 5, 5});
        CHECK(max(abs(sum(w, -1) - 1)).item() < 1e-6);
        CHECK_FALSE(w.requires_grad());
    }
    model.eval();
    const Tensor x = model.norm(zeros({1, 8}));
    CHECK(viz::attention_weights(model.norm, x).empty());

    const nn::CausalMultiHeadAttention one(8, 2, rng, {.max_seq_len = 4});
    const Tensor in = randn({1, 4, 8}, rng);
    const Tensor drawn = viz::attention_weights(one, in).at(0);
    CHECK(
        allclose(drawn, one.with_weights(in).weights));  // by the kernel, whose products may round differently
    const Plain small_operations(Plain::operations);
    CHECK(drawn.to_vector<float>() == one.with_weights(in).weights.to_vector<float>());
}

TEST_CASE("a mask is a grid, one for each sample and head that differ", "[viz][masks]") {
    CHECK(viz::mask_grid(Mask::causal(), 4, 2, 2, 3, {.queries = {"a", "b"}, .keys = {"x", "y", "z"}}) ==
          "Q ↓ / K →   x   y   z\n"
          "a           1   1  -∞\n"
          "b           1   1   1\n");
    CHECK(viz::mask_grid(Mask::padding({1, 2}), 2, 1, 1, 2, {.visible = "+", .blocked = "-", .corner = ""}) ==
          "sample 1\n   1  2\n1  +  -\n"
          "\nsample 2\n   1  2\n1  +  +\n");
    Tensor heads = zeros({2, 2, 1, 1}, boolean);
    heads[1][0].fill_(1);
    const std::string grids =
        viz::mask_grid(Mask::blocked(heads), 2, 2, 1, 1, {.visible = "+", .blocked = "-", .corner = ""});
    CHECK(grids ==
          "sample 1, head 1\n   1\n1  +\n\nsample 1, head 2\n   1\n1  +\n\nsample 2, head 1\n   1\n1  "
          "-\n\nsample "
          "2, head 2\n   1\n1  +\n");
    CHECK(contains(viz::mask_grid(Mask::blocked(heads.slice(0, 1, 2)), 5, 2, 1, 1),
                   "head 1\nQ ↓ / K →   1\n1          -∞\n"));
    refuses<ShapeError>("mask_grid: 1 labels for 2 keys",
                        [] { viz::mask_grid({}, 1, 1, 2, 2, {.keys = {"a"}}); });
    CHECK_THROWS_AS(viz::mask_grid(Mask::padding({1}), 2, 1, 1, 1), ShapeError);
}
