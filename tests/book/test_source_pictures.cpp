// Statements S1.12, S2.01, S3.13, S3.14 and S4.02: what the sources print as pictures and tables.
// B batch, T tokens, D = d_model, H heads.
#include <cmath>

#include "catch.h"
#include "source.h"
#include "weft/viz/pictures.h"

using namespace source;

namespace {

const std::vector<std::string> sample{"this", "is", "a", "sample", "sequence"};

const viz::StoryRow& row_of(const viz::Story& story, const std::string& name) {
    for (const viz::StoryRow& row : story.rows)
        if (row.name == name) return row;
    throw ValueError("no row " + name);
}

// The chapter's mask of "this is a sample sequence <pad> <pad>": the padding is no key, and as a query sees
// nothing.
Mask padded() {
    Tensor blind = zeros({7, 7}, boolean);
    blind.slice(0, 5, 7).fill_(1);
    return Mask::padding({5}) | Mask::blocked(blind);
}

std::string grid(const Mask& mask, std::vector<std::string> labels, std::int64_t n) {
    return viz::mask_grid(mask, 1, 1, n, n, {.queries = labels, .keys = labels, .corner = "Q/K"});
}

}  // namespace

TEST_CASE("S1.12 maps of \"The cat sat\" are made from real weights, a bar for each", "[S1.12][source]") {
    Rng rng(5);
    const auto attention = in_double(nn::CausalMultiHeadAttention(8, 2, rng));
    const Tensor x = random({3, 8}, 2) * 3, weights = attention.with_weights(x).weights;  // (2, 3, 3)
    const std::vector<std::string> words{"The", "cat", "sat"};
    for (std::int64_t h = 0; h < 2; ++h) {
        const std::string map = viz::attention_text(weights[h], {.queries = words, .mask = Mask::causal()});
        for (std::int64_t i = 0; i < 3; ++i) {
            std::string line = words[static_cast<std::size_t>(i)] + " [";
            for (std::int64_t j = 0; j < 3; ++j) {
                const double w = weights.at({h, i, j}) / weights[h][i].max().item();
                const int eighths = static_cast<int>(std::min(7.0, std::floor(8 * w)));
                line += j > i ? "·" : std::string("\xE2\x96") + static_cast<char>(0x81 + eighths);  // ▁ … █
            }
            INFO(map);
            CHECK(contains(map, line + "]\n"));
        }
    }
}

TEST_CASE("S1.12 the first of the two pictures is a causal head's, the second no causal head can make",
          "[S1.12][source]") {
    const std::vector<std::string> words{"The", "cat", "sat"};
    // The picture of the weights that these scores give.
    const auto picture = [&](const Tensor& scores, const Mask& mask) {
        const Tensor one = eye(3),
                     weights = scaled_dot_product_attention(scores, one, one, {.mask = mask, .scale = 1});
        return viz::attention_text(weights, {.queries = words});
    };
    const std::string first = picture(tensor({{0.0, 0, 0}, {5, 5, 5}, {-9, 5, 5}}), Mask::causal());
    for (const char* line : {"The [█▁▁]\n", "cat [██▁]\n", "sat [▁██]\n"}) CHECK(contains(first, line));
    const Tensor scores = tensor({{0.0, 9, 0}, {9, 0, 0}, {0, 9, 0}});
    const std::string second = picture(scores, {});
    for (const char* line : {"The [▁█▁]\n", "cat [█▁▁]\n", "sat [▁█▁]\n"}) CHECK(contains(second, line));
    CHECK(contains(picture(scores, Mask::causal()), "The [█▁▁]\n"));
}

TEST_CASE("S2.01 the story from X to Y, every name with its shape, as the run had it", "[S2.01][source]") {
    constexpr std::int64_t B = 2, T = 5, D = 12, H = 3, d_head = 4;
    Rng rng(1);
    const auto attention = in_double(nn::Attention(D, H, rng, {.fused = false}));
    const Tensor X = random({B, T, D});
    const auto told = viz::tensor_story([&](const Tensor& x) { return attention(x, Mask::causal()); }, X,
                                        {.values_up_to = 1000});
    std::string order;
    for (const viz::StoryRow& row : told.rows) order += (order.empty() ? "" : ", ") + row.name;
    CHECK(order == "X, Q, K, V, q, k, v, scores, mask, masked scores, weights, heads, merged, Y");
    const auto has = [&](const std::vector<std::string>& names, const Shape& shape) {
        for (const std::string& name : names) {
            INFO(name);
            CHECK(row_of(told, name).shape == shape);
            CHECK(contains(told.str(), name));
        }
        CHECK(contains(told.str(), shape.str()));
    };
    has({"X", "Q", "K", "V", "merged", "Y"}, {B, T, D});
    has({"q", "k", "v", "heads"}, {B, H, T, d_head});
    has({"scores", "masked scores", "weights"}, {B, H, T, T});

    // It is the run itself: its values are the module's, and its strides those of a split without a copy.
    const auto [Y, weights] = attention.with_weights(X, Mask::causal());
    CHECK(difference(row_of(told, "weights").values, weights) < 1e-14);
    CHECK(difference(row_of(told, "Y").values, Y) < 1e-14);
    CHECK(difference(row_of(told, "Q").values, attention.W_in[0](X)) < 1e-14);
    CHECK(row_of(told, "q").of == "Q");
    CHECK(row_of(told, "q").strides == Strides{T * D, d_head, D, 1});
    CHECK_FALSE(row_of(told, "q").contiguous);
    CHECK(row_of(told, "merged").memory == viz::Memory::copy);  // after the permute, reshape must copy
}

TEST_CASE("S2.01 tensor_story works on any module and input", "[S2.01][source]") {
    Rng rng(1);
    lm::GPT model({.vocab_size = 11, .block_size = 8, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    for (const std::int64_t T : {3, 8}) {
        const auto told =
            viz::tensor_story([&](const Tensor& ids) { return model(ids); }, randint(0, 11, {2, T}, rng));
        CHECK(row_of(told, "weights").shape == Shape{2, 2, T, T});
        CHECK(row_of(told, "weights #2").shape == Shape{2, 2, T, T});  // the second layer's
        CHECK(told.rows.back().shape == Shape{2, T, 11});
    }
}

TEST_CASE("S3.13 the causal grid of \"this is a sample sequence\"", "[S3.13][source]") {
    CHECK(grid(Mask::causal(), sample, 5) ==
          "Q/K       this  is   a  sample  sequence\n"
          "this         1  -∞  -∞      -∞        -∞\n"
          "is           1   1  -∞      -∞        -∞\n"
          "a            1   1   1      -∞        -∞\n"
          "sample       1   1   1       1        -∞\n"
          "sequence     1   1   1       1         1\n");
}

TEST_CASE("S3.14 the grids of causal attention and of an encoder with padding", "[S3.14][source]") {
    std::vector<std::string> words = sample;
    words.insert(words.end(), {"<pad>", "<pad>"});
    CHECK(grid(Mask::causal() | padded(), words, 7) ==
          "Q/K       this  is   a  sample  sequence  <pad>  <pad>\n"
          "this         1  -∞  -∞      -∞        -∞     -∞     -∞\n"
          "is           1   1  -∞      -∞        -∞     -∞     -∞\n"
          "a            1   1   1      -∞        -∞     -∞     -∞\n"
          "sample       1   1   1       1        -∞     -∞     -∞\n"
          "sequence     1   1   1       1         1     -∞     -∞\n"
          "<pad>       -∞  -∞  -∞      -∞        -∞     -∞     -∞\n"
          "<pad>       -∞  -∞  -∞      -∞        -∞     -∞     -∞\n");
    CHECK(grid(padded(), words, 7) ==
          "Q/K       this  is   a  sample  sequence  <pad>  <pad>\n"
          "this         1   1   1       1         1     -∞     -∞\n"
          "is           1   1   1       1         1     -∞     -∞\n"
          "a            1   1   1       1         1     -∞     -∞\n"
          "sample       1   1   1       1         1     -∞     -∞\n"
          "sequence     1   1   1       1         1     -∞     -∞\n"
          "<pad>       -∞  -∞  -∞      -∞        -∞     -∞     -∞\n"
          "<pad>       -∞  -∞  -∞      -∞        -∞     -∞     -∞\n");
}

TEST_CASE("S4.02 visible and blocked, with positions counted from 1", "[S4.02][source]") {
    CHECK(viz::mask_grid(Mask::causal(), 1, 1, 5, 5, {.visible = "v", .blocked = "x", .corner = "Position"}) ==
          "Position  1  2  3  4  5\n"
          "1         v  x  x  x  x\n"
          "2         v  v  x  x  x\n"
          "3         v  v  v  x  x\n"
          "4         v  v  v  v  x\n"
          "5         v  v  v  v  v\n");
    CHECK(contains(viz::mask_grid(Mask::causal(), 1, 1, 2, 2, {.visible = "✅", .blocked = "❌"}), "✅"));
}
