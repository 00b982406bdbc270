// from_flax: a Flax parameter tree gives the same attention here.
// B batch, T tokens, D = d_model, H heads.
#include <filesystem>
#include <map>

#include "environment.h"
#include "golden/golden.h"
#include "places.h"
#include "refusal.h"
#include "weft/weft.h"

using namespace weft;

namespace {

using Layers = std::vector<std::pair<std::string, std::string>>;

const Layers dense{{"Dense_0", "W_qkv"}, {"Dense_1", "W_out"}};

// A tree of two Dense layers for d_model 2.
nn::NamedTensors small_tree() {
    return {{"Dense_0/kernel", arange(0, 12).reshape({2, 6})},
            {"Dense_0/bias", arange(0, 6)},
            {"Dense_1/kernel", arange(0, 4).reshape({2, 2})},
            {"Dense_1/bias", arange(0, 2)}};
}

template <class E>
std::string refusal(const nn::NamedTensors& params, const Layers& layers = dense) {
    return message_of<E>([&] { nn::from_flax(params, layers); });
}

}  // namespace

TEST_CASE("a Flax tree from numpy.savez gives the output and weights of NumPy's formula", "[nn][flax]") {
    const io::NamedTensors file = io::load_npz(std::filesystem::path(places::golden()) / "flax.npz");
    nn::NamedTensors params;
    std::map<std::string, Tensor> other;
    for (const auto& [name, value] : file)
        if (name.starts_with("params/"))
            params.emplace_back(name, value);
        else
            other.emplace(name, value);
    const Tensor x = other.at("x"), out = other.at("out"), weights = other.at("weights");
    REQUIRE(x.shape() == Shape{2, 5, 12});  // (B, T, D)
    nn::CausalMultiHeadAttention attention(12, 3, {.max_seq_len = 8, .bias = true});
    attention.to(float64);
    attention.load_state_dict(
        nn::from_flax(params, {{"params/Dense_0", "W_qkv"}, {"params/Dense_1", "W_out"}}));
    for (const bool composed : {false, true}) {
        const Plain path(Plain::operations, composed);
        CHECK(distance(attention(x), out) < 1e-13);
        CHECK(distance(attention.with_weights(x).weights, weights) < 1e-13);
    }
    // Separate projections, from the same tree.
    nn::Attention separate(12, 3, {.bias = true, .fused = false});
    separate.to(float64);
    separate.load_state_dict(
        nn::separate_state(nn::from_flax(params, {{"params/Dense_0", "W_qkv"}, {"params/Dense_1", "W_out"}})));
    CHECK(distance(separate(x, Mask::causal()), out) < 1e-13);
}

TEST_CASE("a kernel is transposed, the rest keeps its bits, in the table's order", "[nn][flax]") {
    const nn::NamedTensors state = nn::from_flax(small_tree(), {dense[1], dense[0]});
    REQUIRE(state.size() == 4);
    CHECK(state[0].first == "W_out.weight");
    CHECK(state[1].first == "W_out.bias");
    CHECK(state[2].first == "W_qkv.weight");
    CHECK(state[3].first == "W_qkv.bias");
    CHECK(same_bits(state[2].second, small_tree()[0].second.T().contiguous()));
    CHECK(state[2].second.is_contiguous());
    CHECK(same_bits(state[3].second, small_tree()[1].second));
}

TEST_CASE("norms, embeddings, nested paths, a layer that serves twice and one at the root", "[nn][flax]") {
    const Tensor table = ones({5, 2}), scale = full({2}, 3);
    const auto state =
        nn::from_flax({{"Embed_0/embedding", table},
                       {"Block_0/LayerNorm_0/scale", scale},
                       {"Block_0/LayerNorm_0/bias", zeros({2})}},
                      {{"Embed_0", "tokens"}, {"Embed_0", "head"}, {"Block_0/LayerNorm_0", "norm"}});
    std::string names;
    for (const auto& [name, value] : state) names += name + " ";
    CHECK(names == "tokens.weight head.weight norm.weight norm.bias ");
    CHECK(same_bits(state[1].second, table));
    CHECK(same_bits(state[2].second, scale));
    nn::Linear layer(2, 3);
    layer.load_state_dict(
        nn::from_flax({{"kernel", arange(0, 6).reshape({2, 3})}, {"bias", zeros({3})}}, {{"", ""}}));
    CHECK(layer.weight.at(2, 1) == 5);
}

TEST_CASE("a tree keeps its names and bits in .npz and in safetensors", "[nn][flax]") {
    const Scratch scratch;
    const auto npz = scratch / "params.npz", safetensors = scratch / "params.safetensors";
    io::save_npz(npz, small_tree());
    io::save_safetensors(safetensors, small_tree());
    const auto expected = nn::from_flax(small_tree(), dense);
    for (const auto& params : {io::load_npz(npz), io::load_safetensors(safetensors).tensors}) {
        const auto found = nn::from_flax(params, dense);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            CHECK(found[i].first == expected[i].first);
            CHECK(same_bits(found[i].second, expected[i].second));
        }
    }
}

TEST_CASE("the result is outside the graph", "[nn][flax]") {
    nn::NamedTensors params = small_tree();
    for (auto& [name, value] : params) value.requires_grad_();
    for (const auto& [name, value] : nn::from_flax(params, dense)) CHECK_FALSE(value.requires_grad());
}

TEST_CASE("missing, surplus, repeated and misshapen tensors are refused by name", "[nn][flax]") {
    nn::NamedTensors params = small_tree();
    CHECK(refusal<ValueError>(params, {{"Dense_0/", "W_qkv"}, dense[1]}) ==
          "from_flax: no tensor is in 'Dense_0/'; the names are: Dense_0/bias, Dense_0/kernel, Dense_1/bias, "
          "Dense_1/kernel");
    CHECK(contains(refusal<ValueError>(params, {dense[0]}), "'Dense_1/bias' is in none of the layers"));
    params.emplace_back("Dense_0/scales", zeros({2}));
    CHECK(contains(refusal<ValueError>(params), "'Dense_0/scales' is in none of the layers"));
    params.back() = params.front();
    CHECK(contains(refusal<ValueError>(params), "'Dense_0/kernel' occurs twice"));
    params.pop_back();
    params[0].second = zeros({2, 3, 2});
    CHECK(contains(refusal<ShapeError>(params), "'Dense_0/kernel' must have rank 2, not the shape (2, 3, 2)"));
    params = small_tree();
    params[3].second = zeros({1, 2});
    CHECK(contains(refusal<ShapeError>(params), "'Dense_1/bias' must have rank 1, not the shape (1, 2)"));
}

TEST_CASE("a tree that does not fit the module changes nothing in it", "[nn][flax]") {
    nn::CausalMultiHeadAttention attention(2, 1, {.bias = true});
    const Tensor before = attention.W_out.weight.clone();
    nn::NamedTensors params = small_tree();
    const auto load = [&] { attention.load_state_dict(nn::from_flax(params, dense)); };
    params.erase(params.begin() + 1);  // without the bias
    refuses<ValueError>("W_qkv.bias", load);
    params = small_tree();
    params[0].second = params[0].second.T();  // (6, 2), already transposed
    refuses<ShapeError>("W_qkv.weight", load);
    CHECK(same_bits(attention.W_out.weight, before));
    params = small_tree();
    load();
    CHECK_FALSE(same_bits(attention.W_out.weight, before));
}
