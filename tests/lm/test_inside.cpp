// logit_lens, head_effects and patch_effects, against passes with hooks set by hand.
#include "refusal.h"
#include "source.h"
#include "weft/lm.h"

using namespace weft;
using source::difference;

namespace {

const text::Ids first = {3, 1, 4, 1, 5}, second = {3, 2, 4, 6, 5};
constexpr std::int64_t T = 5, H = 4, D = 6, L = 3, V = 11;

// With grouped heads, biases, a soft cap and a head wider than d_model / H, in float64; larger values than at
// the start of a training, so that each part matters.
lm::Decoder small() {
    Rng rng(1);
    lm::Decoder model({.vocab_size = V,
                       .block_size = 16,
                       .num_layers = L,
                       .num_heads = H,
                       .num_kv_heads = 2,
                       .d_model = 16,
                       .head_dim = D,
                       .logits_softcap = 5,
                       .output_bias = true},
                      rng);
    model.to(float64);
    const NoGrad off;
    for (auto& [name, p] : model.named_parameters()) Tensor(p).add_(randn(p.shape(), rng, float64), 0.3);
    return model;
}

Tensor batch(const text::Ids& ids) { return from_vector(ids, {1, T}); }

// The logits of the token after the prompt, (V,)
Tensor next(const lm::Decoder& model, const text::Ids& ids) {
    const NoGrad off;
    return model(batch(ids), {.last_only = true})[0][0];
}

std::string block(std::int64_t l) { return "layers[" + std::to_string(l) + "]"; }

// What a block returns for a prompt, (1, T, C)
Tensor output_of(const lm::Decoder& model, std::int64_t l, const text::Ids& ids) {
    Tensor seen;
    const nn::ForwardHook hook = model.hook(block(l), [&](const Tensor& y) { return seen = y; });
    next(model, ids);
    return seen;
}

}  // namespace

TEST_CASE("the logit lens of the last layer is the model's own, and each row that of a shorter model", "[lm]") {
    const lm::Decoder model = small();
    const Tensor lens = lm::logit_lens(model, first);
    CHECK(lens.shape() == Shape{L, V});
    CHECK(difference(lens[-1], next(model, first)) == 0);
    CHECK(difference(softmax(lens[-1], 0), softmax(next(model, first), 0)) == 0);
    for (std::int64_t l = 0; l < L; ++l) {
        lm::DecoderConfig config = model.config;
        config.num_layers = l + 1;
        nn::NamedTensors state;
        for (const lm::DecoderParameter& p : lm::decoder_parameters(config))
            for (const auto& [name, value] : model.state_dict())
                if (name == p.name) state.emplace_back(name, value);
        CHECK(difference(lens[l], next(lm::Decoder(config, state), first)) < 1e-12);
    }
}

TEST_CASE("a head's effect is that of its columns set to zero, at each position", "[lm]") {
    const lm::Decoder model = small();
    const std::int64_t token = 7;
    const auto log_probability = [&] { return log_softmax(next(model, first), 0)[token].item(); };
    const Tensor effects = lm::head_effects(model, first, token);
    REQUIRE(effects.shape() == Shape{L, H});
    const double whole = log_probability();
    for (std::int64_t l = 0; l < L; ++l)
        for (std::int64_t h = 0; h < H; ++h) {
            const nn::ForwardHook hook = model.hook(block(l) + ".self_attn.heads", [&](const Tensor& y) {
                CHECK(y.shape() == Shape{1, T, H * D});
                Tensor without = y.clone();
                without.slice(2, h * D, (h + 1) * D).fill_(0);
                return without;
            });
            INFO("layer " << l << ", head " << h);
            CHECK(effects.at({l, h}) == Approx(log_probability() - whole).margin(1e-12));
            CHECK(std::abs(effects.at({l, h})) > 1e-6);
        }
    CHECK(log_probability() == whole);
}

TEST_CASE("a patch's effect is that of the other prompt's output at one position", "[lm]") {
    const lm::Decoder model = small();
    const std::int64_t token = 2, other_token = 9;
    const Tensor effects = lm::patch_effects(model, first, second, token, other_token);
    REQUIRE(effects.shape() == Shape{L, T});
    const auto difference = [&](const Tensor& logits) {
        return logits[other_token].item() - logits[token].item();
    };
    const double from = difference(next(model, first)), to = difference(next(model, second));
    for (std::int64_t l = 0; l < L; ++l) {
        const Tensor other = output_of(model, l, second);
        for (std::int64_t t = 0; t < T; ++t) {
            const nn::ForwardHook hook = model.hook(block(l), [&](const Tensor& y) {
                Tensor patched = y.clone();
                patched.slice(1, t, t + 1).copy_(other.slice(1, t, t + 1));
                return patched;
            });
            INFO("layer " << l << ", position " << t);
            const double moved = (difference(next(model, first)) - from) / (to - from);
            CHECK(effects.at({l, t}) == Approx(moved).margin(1e-11));
        }
        CHECK(std::abs(effects.at({l, 0})) < 1e-11);  // where the prompts are alike
        CHECK(std::abs(effects.at({l, 1})) > (l == L - 1 ? -1 : 1e-6));
    }
    for (std::int64_t t = 0; t + 1 < T; ++t) CHECK(std::abs(effects.at({L - 1, t})) < 1e-11);
    CHECK(effects.at({L - 1, T - 1}) == Approx(1).margin(1e-11));
}

TEST_CASE("looking inside leaves no hook behind, also after a refusal, and hooks that are there act", "[lm]") {
    const lm::Decoder model = small();
    const Tensor before = next(model, first);
    lm::logit_lens(model, first);
    lm::head_effects(model, first, 0);
    lm::patch_effects(model, first, second, 0, 1);
    CHECK_THROWS_AS(lm::logit_lens(model, {0, V}), IndexError);
    CHECK_THROWS_AS(lm::patch_effects(model, first, {3, 2, 4, 6, V}, 0, 1), IndexError);
    CHECK(difference(next(model, first), before) == 0);
    CHECK(is_grad_enabled());

    const nn::ForwardHook hook = model.hook("layers[1].self_attn", [](const Tensor& y) { return y * 0.5; });
    CHECK(difference(next(model, first), before) > 1e-3);
    CHECK(difference(lm::logit_lens(model, first)[-1], next(model, first)) == 0);
    const Tensor effects = lm::head_effects(model, first, 0);
    CHECK(effects.shape() == Shape{L, H});
}

TEST_CASE("looking inside works on a published model's types and on a GPT's weights", "[lm]") {
    Rng rng(2);
    const lm::GPT gpt({.vocab_size = V, .block_size = 8, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    lm::Decoder model(lm::decoder_config(gpt.config), lm::decoder_state(gpt.state_dict()));
    const NoGrad off;
    CHECK(difference(lm::logit_lens(model, first)[-1], gpt(batch(first))[0][-1]) < 1e-6);
    model.to(bfloat16);
    CHECK(lm::logit_lens(model, first).dtype() == float32);
    CHECK(lm::head_effects(model, first, 1).dtype() == float64);
    const Tensor moved = lm::patch_effects(model, first, second, 1, 2);
    CHECK(moved.at({1, T - 1}) == Approx(1).margin(1e-3));
    CHECK(moved.dtype() == float64);
}

TEST_CASE("what looking inside refuses", "[lm][fault]") {
    const lm::Decoder model = small();
    refuses<ValueError>("logit_lens: there are no ids; give at least one", [&] { lm::logit_lens(model, {}); });
    refuses<ValueError>("", [&] { lm::head_effects(model, {}, 1); });
    refuses<ValueError>("", [&] { lm::patch_effects(model, {}, {}, 1, 2); });
    refuses<IndexError>("", [&] { lm::head_effects(model, first, V); });
    refuses<IndexError>("head_effects: token -1 is out of range for a vocabulary of 11",
                        [&] { lm::head_effects(model, first, -1); });
    refuses<IndexError>("", [&] { lm::patch_effects(model, first, second, 0, V); });
    refuses<ValueError>(
        "patch_effects: prompts of 5 and of 2 tokens; use two of one length, so that positions correspond",
        [&] {
            lm::patch_effects(model, first, {1, 2}, 0, 1);
        });
    refuses<ValueError>(
        "patch_effects: the logits of tokens 4 and 4 differ by as much after either prompt; use tokens whose "
        "order changes",
        [&] { lm::patch_effects(model, first, second, 4, 4); });
    refuses<ValueError>("", [&] { lm::patch_effects(model, first, first, 0, 1); });
}
