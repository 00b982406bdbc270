// An error that passes through modules names the place in the model, once, and keeps its type.
#include "catch.h"
#include "weft/lm.h"

using namespace weft;

namespace {

struct Inner : nn::Module {
    nn::Linear proj = register_module("proj", nn::Linear(3, 2));
    Tensor operator()(const Tensor& x) const { return proj(x); }
};

struct Outer : nn::Module {
    Inner head = register_module("head", Inner());
    Outer() : Module("Outer") {}
    Tensor operator()(const Tensor& x) const {
        return nn::located(*this, [&] { return head(x); });
    }
};

template <class E, class F>
std::string message_of(const F& f) {
    try {
        f();
    } catch (const E& error) {
        return error.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST_CASE("an error names the path of the module in its model", "[nn][fault]") {
    const Tensor x = ones({2, 4});
    const std::string alone = message_of<ShapeError>([&] { nn::Linear(3, 2)(x); });
    CHECK(alone.starts_with("linear: x (2, 4)"));
    CHECK(message_of<ShapeError>([&] { Inner()(x); }) == "Module.proj: " + alone);
    CHECK(message_of<ShapeError>([&] { Outer()(x); }) == "Outer.head.proj: " + alone);

    lm::GPT model({.vocab_size = 5, .block_size = 8, .num_layers = 2, .num_heads = 2, .d_model = 4});
    CHECK(message_of<IndexError>([&] {
              model(full({3}, 7, int64));
          }).starts_with("GPT.token_embedding: embedding: token id 7"));
    CHECK(model.blocks[1].attn.path() == "GPT.blocks[1].attn");
    CHECK(message_of<ShapeError>([&] {
              model.blocks[1].attn(ones({2, 3}));
          }).starts_with("GPT.blocks[1].attn: CausalMultiHeadAttention: x must be"));
    CHECK(message_of<ShapeError>([&] {
              model.blocks[1](ones({2, 3}));
          }).starts_with("GPT.blocks[1].norm1: layer_norm: "));
}

TEST_CASE("a module in two models has the path in the first that still exists", "[nn]") {
    const nn::Linear shared(3, 2);
    CHECK(shared.path() == "Linear");
    {
        const nn::Sequential first{shared};
        const nn::Sequential second{nn::Linear(3, 3), shared};
        CHECK(shared.path() == "Sequential[0]");
    }
    CHECK(shared.path() == "Linear");
    const nn::Sequential third{nn::Linear(3, 3), shared};
    CHECK(shared.path() == "Sequential[1]");
}
