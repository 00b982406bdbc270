// The examples of hooks and of what is made of them, word for word, and what they claim.
#include <cmath>

#include "catch.h"
#include "weft/lm.h"

using namespace weft;

TEST_CASE("module.h: a hook sees what a module returns as long as it lives, and may replace it",
          "[header-examples]") {
    Rng rng(1);
    const nn::Sequential model{nn::Linear(4, 3, rng), nn::Linear(3, 2, rng)};
    const Tensor x = ones({1, 4});
    std::vector<Tensor> seen;
    {
        const nn::ForwardHook hook = model.hook("0", [&](const Tensor& y) { return seen.emplace_back(y); });
        (void)model(x);  // seen has what model's first module returned
    }
    (void)model(x);  // nothing more
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].shape() == Shape{1, 3});

    const lm::GPT gpt({.num_layers = 1, .d_model = 8}, rng);
    const auto zeros = [](const Tensor& y) { return zeros_like(y); };
    const nn::ForwardHook off = gpt.hook("blocks[0].attn", zeros);
    CHECK(max(abs(gpt.blocks[0].attn(ones({1, 2, 8})))).item() == 0);
}

TEST_CASE("inside.h: a lens, heads switched off, and outputs patched", "[header-examples]") {
    Rng rng(1);
    const lm::Decoder model({.vocab_size = 4, .num_layers = 2, .num_heads = 2, .d_model = 8}, rng);
    const Tensor lens = lm::logit_lens(model, {1, 2, 0});  // (L, V)
    const Tensor likeliest = argmax(lens, 1);              // (L,), a token for each layer
    CHECK(lens.shape() == Shape{2, 4});
    CHECK(likeliest.shape() == Shape{2});

    const Tensor effects = lm::head_effects(model, {1, 2, 0}, 1);  // (L, H)
    const double lost = min(effects).item();                       // by the head it needs most
    CHECK(effects.shape() == Shape{2, 2});
    CHECK(std::abs(lost) < 1);

    const Tensor moved = lm::patch_effects(model, {1, 2, 0}, {1, 3, 0}, 1, 2);  // (L, T)
    const double at_the_end = moved[-1][-1].item();                             // 1
    CHECK(moved.shape() == Shape{2, 3});
    CHECK(at_the_end == Approx(1).margin(1e-3));
}
