// The language model with caches of keys and values: what it says, what it refuses, what it generates.
#include "refusal.h"
#include "source.h"
#include "splits.h"

using namespace weft;
using source::difference;

namespace {

constexpr std::int64_t B = 2, T = 7;

lm::GPT make_model(DType dtype = float64) {
    Rng rng(1);
    lm::GPT model(
        {.vocab_size = 11, .block_size = 9, .num_layers = 2, .num_heads = 2, .d_model = 8, .bias = true}, rng);
    model.to(dtype);
    return model;
}

Tensor some_ids(const Shape& shape) {
    Rng rng(3);
    return randint(0, 11, shape, rng);
}

}  // namespace

TEST_CASE("GPT with caches equals its full pass at every position, in every split", "[nn][cache]") {
    const NoGrad off;
    for (const DType dtype : {float64, float32}) {
        const lm::GPT model = make_model(dtype);
        const Tensor ids = some_ids({B, T}), full = model(ids);
        for (const Steps& steps : all_splits(T)) {
            INFO(name(dtype) << ": " << name_of(steps));
            std::vector<nn::KeyValueCache> caches = model.make_caches(), single = model.make_caches();
            std::int64_t t = 0;
            for (const std::int64_t n : steps) {
                const Tensor next = ids.slice(1, t, t + n);
                const double tolerance = dtype == float64 ? 1e-12 : 1e-5;
                CHECK(difference(model(next, caches), full.slice(1, t, t + n)) < tolerance);
                CHECK(difference(model(next[1], single), full[1].slice(0, t, t + n)) < tolerance);
                t += n;
            }
        }
    }
}

TEST_CASE("generation with caches is, token for token, generation without, also when the window slides",
          "[nn][cache]") {
    for (const DType dtype : {float64, float32}) {
        lm::GPT model = make_model(dtype);
        for (const std::int64_t given : {1, 4, 9, 12}) {  // shorter than a block, a whole one, and more
            const Tensor ids = some_ids({B, given});
            Tensor all = ids;
            const NoGrad off;
            for (int i = 0; i < 14; ++i) {
                const Tensor seen = all.slice(1, std::max<std::int64_t>(0, all.size(1) - 9), all.size(1));
                all = cat({all, argmax(model(seen).select(1, -1), -1).unsqueeze(1)}, 1);
            }
            INFO(name(dtype) << ", " << given << " tokens given");
            CHECK(model.generate(ids, 14, {.temperature = 0}).to_vector<std::int64_t>() ==
                  all.to_vector<std::int64_t>());
        }
    }
}
