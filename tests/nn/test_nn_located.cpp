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
          }).starts_with("GPT.blocks[1].attn: Attention: x must be"));
    CHECK(message_of<ShapeError>([&] {
              model.blocks[1](ones({2, 3}));
          }).starts_with("GPT.blocks[1].norm1: layer_norm: "));
}

// Every layer, as the member of a model, called with what it refuses.
TEST_CASE("every layer's error names its path", "[nn][fault]") {
    struct Model : nn::Module {
        nn::Linear linear = register_module("linear", nn::Linear(3, 2));
        nn::LayerNorm layer_norm = register_module("layer_norm", nn::LayerNorm(3));
        nn::RMSNorm rms_norm = register_module("rms_norm", nn::RMSNorm(3));
        nn::Embedding embedding = register_module("embedding", nn::Embedding(3, 2));
        nn::Conv2d conv = register_module("conv", nn::Conv2d(3, 2, 1));
        nn::BatchNorm batch_norm = register_module("batch_norm", nn::BatchNorm(3));
        nn::Dropout dropout = register_module("dropout", nn::Dropout(0.5));
        nn::MLP mlp = register_module("mlp", nn::MLP(4));
        nn::GatedMLP gated = register_module("gated", nn::GatedMLP(4));
        nn::MixtureOfExperts mixture = register_module("mixture", nn::MixtureOfExperts(4));
        nn::MultiHeadAttention attention = register_module("attention", nn::MultiHeadAttention(4, 2));
        nn::CausalMultiHeadAttention causal =
            register_module("causal", nn::CausalMultiHeadAttention(4, 2, {.max_seq_len = 8}));
        nn::TransformerBlock block = register_module("block", nn::TransformerBlock(4, 2, {.max_seq_len = 8}));
        nn::EncoderBlock encoder = register_module("encoder", nn::EncoderBlock(4, 2));
        nn::DecoderBlock decoder = register_module("decoder", nn::DecoderBlock(4, 2));
        nn::Sequential steps = register_module("steps", nn::Sequential{relu});
        lm::GPT gpt = register_module("gpt", lm::GPT({.vocab_size = 5, .block_size = 8, .d_model = 4}));
        Model() : Module("Model") {}
    };
    const Model m;
    const Tensor x = ones({2, 5}), ids = arange(3);
    const std::vector<std::pair<std::string, std::function<void()>>> calls = {
        {"linear", [&] { m.linear(x); }},
        {"layer_norm", [&] { m.layer_norm(x); }},
        {"rms_norm", [&] { m.rms_norm(x); }},
        {"embedding", [&] { m.embedding(x); }},
        {"conv", [&] { m.conv(x); }},
        {"batch_norm", [&] { m.batch_norm(x); }},
        {"dropout", [&] { m.dropout(ids); }},
        {"mlp.W_in", [&] { m.mlp(x); }},
        {"gated.", [&] { m.gated(x); }},
        {"mixture.gate", [&] { m.mixture(x); }},
        {"attention", [&] { m.attention(x); }},
        {"causal", [&] { m.causal(x); }},
        {"block.norm1", [&] { m.block(x); }},
        {"encoder.norm1", [&] { m.encoder(x); }},
        {"decoder.norm1", [&] { m.decoder(x, x); }},
        {"steps", [&] { m.steps(ids); }},
        {"gpt",
         [&] {
             m.gpt(ones({2, 2, 2}).to(int64));
         }},
    };
    CHECK(calls.size() == m.named_children().size());
    for (const auto& [path, call] : calls) {
        std::string message = "nothing was thrown";
        try {
            call();
        } catch (const Error& error) {
            message = error.what();
        }
        INFO(message);
        CHECK(message.starts_with("Model." + path));
    }
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
