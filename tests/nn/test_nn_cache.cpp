// The key/value cache: decoding in any steps gives what the pass over the whole sequence gives.
#include "refusal.h"
#include "source.h"

using namespace weft;
using source::difference;
using source::random;

namespace {

using Steps = std::vector<std::int64_t>;  // how many tokens each part has

// Every way to write n as a sum of positive numbers in order: 2ⁿ⁻¹ of them.
std::vector<Steps> all_splits(std::int64_t n) {
    std::vector<Steps> all;
    for (unsigned cuts = 0; cuts < 1U << (n - 1); ++cuts) {
        Steps steps{1};
        for (std::int64_t t = 0; t + 1 < n; ++t)
            if (cuts >> t & 1U)
                steps.push_back(1);
            else
                ++steps.back();
        all.push_back(steps);
    }
    return all;
}

std::string name_of(const Steps& steps) {
    std::string name;
    for (const std::int64_t n : steps) name += std::to_string(n) + " ";
    return name;
}

constexpr std::int64_t B = 2, T = 7, C = 12, H = 6;

// What the attention says of x (…, T, C), given to it in steps.
Tensor in_steps(const nn::Attention& attention, const Tensor& x, const Steps& steps) {
    const NoGrad off;
    nn::KeyValueCache cache;
    std::vector<Tensor> said;
    std::int64_t t = 0;
    for (const std::int64_t n : steps) {
        said.push_back(attention(x.slice(-2, t, t + n), cache));
        t += n;
        REQUIRE(cache.length() == t);
    }
    return cat(said, -2);
}

nn::Attention make_attention(DType dtype, std::int64_t num_kv_heads = 0,
                             std::optional<double> rotary_base = {}) {
    Rng rng(1);
    nn::Attention attention(C, H, rng,
                            {.causal = true,
                             .max_seq_len = 64,
                             .bias = true,
                             .num_kv_heads = num_kv_heads,
                             .rotary_base = rotary_base});
    attention.to(dtype);
    return attention;
}

}  // namespace

TEST_CASE("a cache gives all keys and values so far, in the order in which they came", "[nn][cache]") {
    const Tensor k = random({B, 3, T, 4}, 1), v = random({B, 3, T, 5}, 2);
    for (const Steps& steps : all_splits(T)) {
        INFO(name_of(steps));
        nn::KeyValueCache growing, fixed(T);
        std::int64_t t = 0;
        for (const std::int64_t n : steps) {
            for (nn::KeyValueCache* cache : {&growing, &fixed}) {
                const auto [keys, values] = cache->append(k.slice(2, t, t + n), v.slice(2, t, t + n));
                CHECK(same_bits(keys, k.slice(2, 0, t + n)));
                CHECK(same_bits(values, v.slice(2, 0, t + n)));
                CHECK(cache->length() == t + n);
            }
            t += n;
        }
    }
}

TEST_CASE("a cache moves what it holds when its storage doubles, which stays within its capacity",
          "[nn][cache]") {
    const Tensor k = random({1, 2, 1, 4}), v = random({1, 2, 1, 3});
    for (const std::int64_t capacity : {0, 700}) {
        nn::KeyValueCache cache = capacity == 0 ? nn::KeyValueCache() : nn::KeyValueCache(capacity);
        std::int64_t moves = 0;
        Tensor before = cache.append(k, v)[0];
        for (int t = 1; t < 700; ++t) {
            const Tensor after = cache.append(k, v)[0];
            moves += after.shares_storage(before) ? 0 : 1;
            before = after;
        }
        CHECK(moves == 6);  // 16 → 32 → 64 → 128 → 256 → 512 → 1024 or the capacity
        CHECK(before.strides()[0] == (capacity == 0 ? 1024 : 700) * 2 * 4);
        CHECK(same_bits(before, k.expand({1, 2, 700, 4}).contiguous()));
        before.fill_(7);  // the storage itself
        CHECK(cache.append(k.slice(2, 0, 0), v.slice(2, 0, 0))[0].at({0, 1, 0, 3}) == 7);
    }
}

TEST_CASE("a cache that was cleared or cut takes another sequence", "[nn][cache]") {
    nn::KeyValueCache cache(4);
    const Tensor k = random({1, 2, 4, 4}), other = random({3, 1, 2, 6}, 5);
    cache.append(k, k);
    cache.truncate(1);
    CHECK(cache.length() == 1);
    const Tensor next = random({1, 2, 2, 4}, 8);
    CHECK(same_bits(cache.append(next, next)[1], cat({k.slice(2, 0, 1), next}, 2)));
    cache.clear();
    CHECK(cache.length() == 0);
    CHECK(same_bits(cache.append(other, other)[0], other));  // other shapes
}

TEST_CASE("a cache takes what takes part in the graph under NoGrad", "[nn][cache]") {
    const Tensor k = random({1, 2, 1, 4}).requires_grad_(), v = random({1, 2, 1, 4});
    nn::KeyValueCache cache;
    CHECK_FALSE(cache.append(v, v)[0].requires_grad());
    const NoGrad off;
    CHECK_FALSE(cache.append(k, k)[0].requires_grad());
    CHECK(cache.length() == 2);
}

TEST_CASE("attention with a cache equals the full pass at every position, in every split", "[nn][cache]") {
    struct Kind {
        std::int64_t num_kv_heads;
        std::optional<double> rotary_base;
    };
    for (const auto& [num_kv_heads, rotary_base] : {Kind{0, {}}, Kind{2, {}}, Kind{1, 10000.0}, Kind{0, 100.0}})
        for (const DType dtype : {float64, float32})
            for (const bool composed : {false, true}) {
                const Plain path(Plain::operations, composed);
                const auto attention = make_attention(dtype, num_kv_heads, rotary_base);
                const Tensor x = random({B, T, C}, 4, dtype), full = attention(x), one = attention(x[1]);
                for (const Steps& steps : all_splits(T)) {
                    INFO(num_kv_heads << " heads of keys, " << name(dtype) << ", composed " << composed << ": "
                                      << name_of(steps));
                    const double tolerance = dtype == float64 ? 1e-12 : 1e-5;
                    CHECK(difference(in_steps(attention, x, steps), full) < tolerance);
                    CHECK(difference(in_steps(attention, x[1], steps), one) < tolerance);  // unbatched
                }
            }
}

TEST_CASE("padding hides cached keys as it hides those of a full pass", "[nn][cache]") {
    const NoGrad off;
    const auto attention = make_attention(float64);
    const Tensor x = random({B, T, C}, 4);
    const Mask unseen = Mask::blocked(tensor({{0, 1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0}}, boolean)
                                          .reshape({B, 1, 1, T})
                                          .expand({B, 1, T, T}));
    const Tensor full = attention(x, unseen | Mask::padding({T, 6}));
    nn::KeyValueCache cache;
    (void)attention(x.slice(1, 0, 5), cache,
                    Mask::padding({0, 0}));  // what this says is not what is asked here
    const Mask rest = Mask::blocked(tensor({{0, 1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0}}, boolean)
                                        .reshape({B, 1, 1, T})
                                        .expand({B, 1, 2, T}));
    CHECK(difference(attention(x.slice(1, 5, T), cache, rest | Mask::padding({T, 6})), full.slice(1, 5, T)) <
          1e-14);
}

TEST_CASE("one mask of keys and documents serves each step of decoding, from the whole prompt to single tokens",
          "[nn][cache][mask]") {
    const NoGrad off;
    const Tensor x = random({B, T, C}, 4);
    const Mask mask = Mask::keys(tensor({{0, 0, 1, 1, 1, 0, 1}, {1, 1, 1, 1, 1, 1, 1}}, boolean)) |
                      Mask::documents(tensor({{0, 0, 0, 0, 1, 1, 1}, {4, 2, 4, 4, 2, 2, 4}}, int64));
    for (const auto base : {std::optional<double>(), std::optional<double>(100)}) {
        const auto attention = make_attention(float64, 2, base);
        const Tensor full = attention(x, mask);
        CHECK(difference(full, attention(x)) > 1e-3);
        for (const Steps& steps : all_splits(T)) {
            INFO(name_of(steps));
            nn::KeyValueCache cache;
            std::vector<Tensor> said;
            for (std::int64_t t = 0; const std::int64_t n : steps) {
                said.push_back(attention(x.slice(1, t, t + n), cache, mask));
                t += n;
            }
            CHECK(difference(cat(said, 1), full) < 1e-12);
        }
    }
    const auto attention = make_attention(float64);
    nn::KeyValueCache cache;
    (void)attention(x, cache, mask);
    refuses<ShapeError>(": (2, 7) for 2 samples of 8 keys; give one for each key, those in a cache included",
                        [&] { (void)attention(x.slice(1, 0, 1), cache, mask); });
    CHECK(cache.length() == T);
}

TEST_CASE("a cache that was moved from is an empty one", "[nn][cache]") {
    Rng rng(1);
    const Tensor k = randn({2, 1, 3, 4}, rng), other = randn({1, 2, 5, 6}, rng);
    nn::KeyValueCache from(8), to;
    (void)from.append(k, k);
    to = std::move(from);
    CHECK(to.length() == 3);
    CHECK(to.capacity() == 8);
    CHECK(from.length() == 0);
    CHECK(source::difference(from.append(other, other)[0], other) == 0);
    CHECK(source::difference(to.append(k, k)[1], cat({k, k}, 2)) == 0);
}
