// Blocks made of parts, the parts of newer models, and attention's one config.
#include "refusal.h"
#include "source.h"
#include "weft/weft.h"

using namespace weft;
using source::difference;

namespace {

constexpr std::int64_t B = 2, T = 5, C = 12, H = 6;

Tensor input(DType dtype = float64) {
    Rng rng(3);
    return randn({B, T, C}, rng, dtype);
}

}  // namespace

TEST_CASE("RMSNorm divides by the root mean square, then scales", "[nn][parts]") {
    nn::RMSNorm norm(C, {.eps = 1e-3});
    norm.to(float64);
    const NoGrad off;
    Tensor weight = norm.weight;
    weight.copy_(arange(C).to(float64) / 4.0);
    const Tensor x = input();
    CHECK(difference(norm(x), x / sqrt(mean(x * x, -1, true) + 1e-3) * weight) < 1e-14);
    CHECK(difference(nn::RMSNorm(C)(input(float32)),
                     input(float32) / sqrt(mean(input(float32) * input(float32), -1, true))) < 1e-5);
    CHECK(norm.state_dict().size() == 1);
    CHECK(message_of<ValueError>([] { nn::RMSNorm(0); }) == "RMSNorm: dim must be at least 1, not 0");
    CHECK(message_of<ValueError>([] { nn::RMSNorm(4, {.eps = 0}); }) == "RMSNorm: eps must be above 0, not 0");
    refuses<ShapeError>("rms_norm: ", [&] { return norm(zeros({2, 3}, float64)); });
}

TEST_CASE("GatedMLP multiplies by the gate, and has an MLP's number of weights", "[nn][parts]") {
    Rng rng(1);
    nn::GatedMLP mlp(C, rng, {.bias = true});
    mlp.to(float64);
    const Tensor x = input(), gate = mlp.gate_proj(x);
    CHECK(gate.size(-1) == 8 * C / 3);
    CHECK(difference(mlp(x), mlp.down_proj(gate * sigmoid(gate) * mlp.up_proj(x))) < 1e-15);
    CHECK(nn::GatedMLP(C, rng).num_parameters() == nn::MLP(C, rng, {.bias = false}).num_parameters());
    CHECK(mlp.state_dict().size() == 6);
}

TEST_CASE("a block of one's own parts adds them to the stream, decodes, and names them", "[nn][parts]") {
    Rng rng(1);
    nn::PreNormBlock block{"LlamaBlock", nn::RMSNorm(C),
                           nn::Attention(C, H, rng, {.causal = true, .num_kv_heads = 2, .rotary_base = 10000}),
                           nn::RMSNorm(C), nn::GatedMLP(C, rng)};
    block.to(float64);
    const Tensor x = input(), h = x + block.attn(block.norm1(x));
    CHECK(difference(block(x), h + block.mlp(block.norm2(h))) < 1e-15);
    CHECK(block.kind() == "LlamaBlock");
    nn::NamedTensors state = block.state_dict();
    CHECK(state.size() == 7);
    CHECK(state[0].first == "norm1.weight");
    refuses<ShapeError>("LlamaBlock.norm1: ", [&] { return block(zeros({2, 3}, float64)); });
    {
        const NoGrad off;
        nn::KeyValueCache cache;
        const Tensor stepwise = cat({block(x.slice(1, 0, 2), cache), block(x.slice(1, 2, T), cache)}, 1);
        CHECK(difference(stepwise, block(x)) < 1e-14);
    }
    sum(pow(block(x), 2)).backward();
    for (const auto& [name, parameter] : block.named_parameters()) {
        INFO(name);
        CHECK(max(abs(parameter.grad())).item() > 0);
    }
}

TEST_CASE("causal attention is multi-head attention with a causal mask: same state, bits and gradients",
          "[nn][attention][parts]") {
    for (const DType dtype : {float32, float64})
        for (const nn::AttentionConfig& config :
             {nn::AttentionConfig{.bias = true}, nn::AttentionConfig{.num_kv_heads = 2, .rotary_base = 100},
              nn::AttentionConfig{.num_kv_heads = 3, .d_k = 4, .d_v = 5},
              nn::AttentionConfig{.dropout = 0.3}}) {
            Rng a(7), b(7);
            nn::AttentionConfig of_causal = config;
            of_causal.causal = true;
            nn::Attention causal(C, H, a, of_causal);
            nn::Attention plain(C, H, b, config);
            causal.to(dtype);
            plain.to(dtype);
            const Tensor x = input(dtype);
            const Tensor y = causal(x), z = plain(x, Mask::causal());
            CHECK(same_bits(y, z));
            sum(y * y).backward();
            sum(z * z).backward();
            const nn::NamedTensors ours = causal.named_parameters(), theirs = plain.named_parameters();
            REQUIRE(ours.size() == theirs.size());
            for (std::size_t i = 0; i < ours.size(); ++i) {
                CHECK(ours[i].first == theirs[i].first);
                CHECK(same_bits(ours[i].second.grad(), theirs[i].second.grad()));
            }
            causal.eval();
            plain.eval();
            CHECK(same_bits(causal.with_weights(x).weights, plain.with_weights(x, Mask::causal()).weights));
        }
}

TEST_CASE("a block's options reach its attention, which may say otherwise", "[nn][parts]") {
    Rng rng(1);
    const nn::TransformerBlock block(
        C, H, rng,
        {.max_seq_len = 9, .bias = true, .dropout = 0.25, .attention = {.dropout = 0, .num_kv_heads = 2}});
    CHECK(block.attn.max_seq_len == 9);
    CHECK(block.attn.W_in[0].bias.defined());
    CHECK(block.attn.dropout == 0);
    CHECK(block.attn.num_kv_heads == 2);
    CHECK(block.drop.p == 0.25);
    const nn::DecoderBlock decoder(C, H, rng, {.attention = {.bias = true, .rotary_base = 100}});
    CHECK(decoder.attn.rotary_base == 100.0);
    CHECK_FALSE(decoder.cross.rotary_base.has_value());  // the source's positions are not the target's
    CHECK(decoder.cross.W_out.bias.defined());
    CHECK_FALSE(decoder.mlp.W_in.bias.defined());
}
