// The tensor story.
// B batch, T tokens, C = d_model, H heads, d_k = C / H.
#include <map>

#include "catch.h"
#include "weft/watch/trace.h"
#include "weft/weft.h"

using namespace weft;
using viz::Memory;

namespace {

const viz::StoryRow& row_of(const viz::Story& story, const char* name) {
    for (const viz::StoryRow& row : story.rows)
        if (row.name == name) return row;
    FAIL("no row " << name << " in\n" << story.str());
    throw 0;
}

using Operations = std::vector<std::string>;

}  // namespace

TEST_CASE("the story's shapes and strides are those that follow from B, T, C and H", "[viz][story]") {
    struct Sizes {
        std::int64_t B, T, C, H;
    };
    for (const auto& [B, T, C, H] : {Sizes{1, 4, 12, 3}, Sizes{2, 7, 16, 4}, Sizes{3, 1, 6, 1}}) {
        Rng rng(1);
        const nn::CausalMultiHeadAttention attention(C, H, rng, {.max_seq_len = 9});
        const std::int64_t d_k = C / H;
        const viz::Story story = viz::tensor_story(attention, randn({B, T, C}, rng));
        const std::map<std::string, std::pair<Shape, Strides>> expected = {
            {"X", {{B, T, C}, {T * C, C, 1}}},
            {"QKV", {{B, T, 3 * C}, {T * 3 * C, 3 * C, 1}}},
            {"q", {{B, H, T, d_k}, {T * 3 * C, d_k, 3 * C, 1}}},
            {"k", {{B, H, T, d_k}, {T * 3 * C, d_k, 3 * C, 1}}},
            {"v", {{B, H, T, d_k}, {T * 3 * C, d_k, 3 * C, 1}}},
            {"scores", {{B, H, T, T}, {H * T * T, T * T, T, 1}}},
            {"mask", {{1, 1, T, T}, {}}},
            {"masked scores", {{B, H, T, T}, {H * T * T, T * T, T, 1}}},
            {"weights", {{B, H, T, T}, {H * T * T, T * T, T, 1}}},
            {"heads", {{B, H, T, d_k}, {H * T * d_k, T * d_k, d_k, 1}}},
            {"merged", {{B, T, C}, {T * C, C, 1}}},
            {"Y", {{B, T, C}, {T * C, C, 1}}}};
        CHECK(story.rows.size() == expected.size());
        for (const viz::StoryRow& row : story.rows) {
            INFO(row.name);
            REQUIRE(expected.count(row.name) == 1);
            const auto& [shape, strides] = expected.at(row.name);
            CHECK(row.shape == shape);
            for (int axis = 0; axis < strides.rank(); ++axis)  // one element has no stride
                if (shape[axis] > 1) CHECK(row.strides[axis] == strides[axis]);
            CHECK(row.dtype == (row.name == "mask" ? boolean : float32));
        }
        CHECK(row_of(story, "q").contiguous == (T == 1 && H == 1 && B == 1));
        CHECK(row_of(story, "weights").contiguous);
    }
}

TEST_CASE("views, copies and new values are distinguished", "[viz][story]") {
    const auto run = [](const Tensor& x) {
        const Tensor t = traced("transposed", x.T());
        (void)traced("flat view", x.reshape({6}));
        (void)traced("flat copy", t.reshape({6}));
        (void)traced("clone", x.clone());
        (void)traced("double", x.to(float64));
        (void)traced("row", t[1]);
        (void)traced("product", matmul(x, t));
        (void)traced("scaled", (x * 2).reshape({6}));
        (void)traced("outside", ones({2}));
        return traced("twice", cat({t, t}));
    };
    const viz::Story story = viz::tensor_story(run, tensor({{1.0, 2, 3}, {4, 5, 6}}));
    const auto check = [&](const char* name, Memory memory, const char* of, const Operations& made_by) {
        const viz::StoryRow& row = row_of(story, name);
        INFO(name << "\n" << story.str());
        CHECK(row.memory == memory);
        CHECK(row.of == of);
        CHECK(row.made_by == made_by);
    };
    check("input", Memory::given, "", {});
    check("transposed", Memory::view, "input", {"transpose"});
    check("flat view", Memory::view, "input", {"reshape"});
    check("flat copy", Memory::copy, "transposed", {"reshape"});
    check("clone", Memory::copy, "input", {"clone"});
    check("double", Memory::copy, "input", {"to"});
    check("row", Memory::view, "input", {"select"});
    check("product", Memory::own, "", {"matmul"});
    check("scaled", Memory::own, "", {"multiply", "reshape"});
    check("outside", Memory::given, "", {});
    check("twice", Memory::own, "", {"cat"});
    CHECK_FALSE(row_of(story, "transposed").contiguous);
    CHECK(row_of(story, "flat copy").values.to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("merging heads copies, splitting them does not", "[viz][story]") {
    Rng rng(1);
    const nn::Attention attention(8, 2, rng, {.fused = false});
    const viz::Story story = viz::tensor_story(attention, randn({2, 3, 8}, rng));
    CHECK(row_of(story, "q").of == "Q");
    CHECK(row_of(story, "k").of == "K");
    CHECK(row_of(story, "v").of == "V");
    CHECK(row_of(story, "v").memory == Memory::view);
    CHECK(row_of(story, "merged").memory == Memory::copy);
    CHECK(row_of(story, "merged").of == "heads");
    CHECK(row_of(story, "scores").made_by == Operations{"transpose", "matmul", "multiply"});
}

TEST_CASE("the story is that of the run: its values are what the module returns", "[viz][story]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(4, 2, rng, {.max_seq_len = 4});
    const Tensor x = randn({1, 3, 4}, rng);
    const viz::Story story = viz::tensor_story(attention, x, {.values_up_to = 100});
    const Plain composed(Plain::operations);
    const auto [y, weights] = attention.with_weights(x);
    CHECK(row_of(story, "X").values.to_vector<float>() == x.to_vector<float>());
    CHECK(row_of(story, "weights").values.to_vector<float>() == weights.to_vector<float>());
    CHECK(row_of(story, "Y").values.to_vector<float>() == y.to_vector<float>());
    CHECK(row_of(story, "mask").values.to_vector<bool>() ==
          std::vector<bool>{false, true, true, false, false, true, false, false, false});
}

TEST_CASE("a second name of one tensor is told beside the first, a second tensor of one name is numbered",
          "[viz][story]") {
    Rng rng(1);
    const nn::MultiHeadAttention first(4, 2, rng), second(4, 2, rng);
    const viz::Story story =
        viz::tensor_story([&](const Tensor& x) { return second(first(x)); }, randn({3, 4}, rng));
    std::string names;
    for (const viz::StoryRow& row : story.rows) names += (names.empty() ? "" : ", ") + row.name;
    CHECK(names ==
          "X, QKV, q, k, v, scores, weights, heads, merged, Y = X #2, QKV #2, q #2, k #2, v #2, scores #2, "
          "weights #2, heads #2, merged #2, Y #2");
    CHECK(row_of(story, "q #2").of == "QKV #2");
}

TEST_CASE("a run that names nothing has its input and output; its gradients are left alone", "[viz][story]") {
    Rng rng(1);
    const nn::Linear layer(2, 3, rng);
    const Tensor x = ones({1, 2}).requires_grad_();
    sum(layer(x)).backward();
    const std::vector<float> before = layer.weight.grad().to_vector<float>(),
                             of_x = x.grad().to_vector<float>();
    const viz::Story story = viz::tensor_story(layer, x);
    REQUIRE(story.rows.size() == 2);
    CHECK(story.rows[0].name == "input");
    CHECK(story.rows[1].name == "output");
    CHECK(layer.weight.grad().to_vector<float>() == before);
    CHECK(x.grad().to_vector<float>() == of_x);
    CHECK(x.is_leaf());
    CHECK_FALSE(is_plain(Plain::operations));
    const Tensor data = ones({1, 2});
    viz::tensor_story(layer, data);
    CHECK_FALSE(data.requires_grad());
    const NoGrad off;  // the story knows the operations all the same
    CHECK(viz::tensor_story(layer, x).rows[1].made_by == story.rows[1].made_by);
    CHECK_FALSE(story.rows[1].made_by.empty());
}

TEST_CASE("a tensor that is named before the input has a story, too", "[viz][story]") {
    const viz::Story story = viz::tensor_story(
        [](const Tensor& x) {
            const Tensor turned = traced("turned", x.T().contiguous());
            return matmul(traced("x", x), turned);
        },
        ones({2, 3}));
    REQUIRE(story.rows.size() == 3);
    CHECK(story.rows[0].name == "turned");
    CHECK(row_of(story, "turned").of == "x");
    CHECK_FALSE(row_of(story, "turned").made_by.empty());
    CHECK(row_of(story, "x").made_by.empty());
}

TEST_CASE("ids are listed with their dtype", "[viz][story]") {
    Rng rng(1);
    const nn::Embedding table(5, 2, rng);
    const viz::Story story = viz::tensor_story(table, tensor({0, 4}, int64));
    CHECK(row_of(story, "input").dtype == int64);
    CHECK(row_of(story, "output").made_by == Operations{"index_select", "reshape"});
    CHECK(contains(story.str(), "(2,) int64"));
}

TEST_CASE("the story as a table, with the values of small tensors", "[viz][story]") {
    const auto run = [](const Tensor& x) { return traced("doubled", traced("across", x.T()) * 2); };
    const Tensor x = tensor({{1.0, 2}, {3, 4}});
    viz::Story story = viz::tensor_story(run, x, {.values_up_to = 4});
    x.detach().fill_(9);  // what was told stays
    CHECK(story.str() ==
          "tensor   shape   strides  layout      made by    memory\n"
          "input    (2, 2)  (2, 1)   contiguous  -          given\n"
          "across   (2, 2)  (1, 2)   strided     transpose  a view of input\n"
          "doubled  (2, 2)  (2, 1)   contiguous  multiply   its own\n"
          "\ninput =\n[[1. 2.]\n [3. 4.]]\n"
          "\nacross =\n[[1. 3.]\n [2. 4.]]\n"
          "\ndoubled =\n[[2. 6.]\n [4. 8.]]\n");
    CHECK_FALSE(contains(viz::tensor_story(run, x, {.values_up_to = 3}).str(), "="));
}

TEST_CASE("the table names the last four of a long chain's operations", "[viz][story]") {
    const auto shown = [](int scalings) {
        const auto chain = [&](const Tensor& x) {
            Tensor y = exp(x);
            for (int i = 0; i < scalings; ++i) y = y * 2;
            return y;
        };
        return viz::tensor_story(chain, ones({1}), {.values_up_to = 0}).str();
    };
    CHECK(contains(shown(3), "  exp, multiply, multiply, multiply  "));
    CHECK(contains(shown(4), "  …, multiply, multiply, multiply, multiply  "));
}
