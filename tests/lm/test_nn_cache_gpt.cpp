// What a language model with caches of keys and values refuses.
#include "catch.h"
#include "source.h"

using namespace weft;

namespace {

constexpr std::int64_t B = 2;

lm::GPT make_model() {
    Rng rng(1);
    lm::GPT model(
        {.vocab_size = 11, .block_size = 9, .num_layers = 2, .num_heads = 2, .d_model = 8, .bias = true}, rng);
    model.to(float64);
    return model;
}

Tensor some_ids(const Shape& shape) {
    Rng rng(3);
    return randint(0, 11, shape, rng);
}

}  // namespace

TEST_CASE("GPT refuses caches that are not its own, and leaves them as they were", "[nn][cache]") {
    const lm::GPT model = make_model();
    const NoGrad off;
    auto caches = model.make_caches();
    CHECK(caches.size() == 2);
    CHECK(caches[0].capacity() == 9);
    (void)model(some_ids({B, 6}), caches);
    const auto lengths = [&] { return std::pair(caches[0].length(), caches[1].length()); };
    const std::string long_message = message_of<ShapeError>([&] { return model(some_ids({B, 4}), caches); });
    CHECK(contains(long_message, "4 tokens in (2, 4) after 6 in the caches, but block_size is 9"));
    CHECK_THROWS_AS(model(some_ids({3, 1}), caches), ShapeError);  // another batch
    CHECK_THROWS_AS(model(full({B, 1}, 11, int64), caches), IndexError);
    CHECK(lengths() == std::pair<std::int64_t, std::int64_t>(6, 6));

    auto odd = model.make_caches();
    odd[1].append(zeros({B, 2, 1, 3}, float64), zeros({B, 2, 1, 3}, float64));
    odd[0].append(zeros({B, 2, 1, 4}, float64), zeros({B, 2, 1, 4}, float64));
    CHECK_THROWS_AS(model(some_ids({B, 1}), odd), ShapeError);  // the second block's cache holds other widths
    CHECK(odd[0].length() == 1);                                // and the first block's has forgotten its token

    caches[1].truncate(5);
    CHECK(contains(message_of<ValueError>([&] {
                       (void)model(some_ids({B, 1}), caches);
                   }),
                   "caches of 6 and of 5 tokens"));
    caches.pop_back();
    CHECK(contains(message_of<ValueError>([&] {
                       return model(some_ids({B, 1}), caches);
                   }),
                   "1 caches for 2 blocks"));
    auto fresh = model.make_caches();
    const EnableGrad on;
    CHECK(contains(message_of<GraphError>([&] { return model(some_ids({B, 1}), fresh); }), "NoGrad"));
    CHECK(fresh[0].length() == 0);
}
