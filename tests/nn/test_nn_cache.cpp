// The key/value cache: decoding in any steps gives what the pass over the whole sequence gives.
#include "catch.h"
#include "source.h"
#include "splits.h"

using namespace weft;
using source::distance;
using source::random;

namespace {

constexpr std::int64_t B = 2, T = 7, C = 12, H = 6;

// What the attention says of x (…, T, C), given to it in steps.
Tensor in_steps(const nn::CausalMultiHeadAttention& attention, const Tensor& x, const Steps& steps) {
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

nn::CausalMultiHeadAttention make_attention(DType dtype, std::int64_t num_kv_heads = 0,
                                            std::optional<double> rotary_base = {}) {
    Rng rng(1);
    nn::CausalMultiHeadAttention attention(
        C, H, rng, {.max_seq_len = 64, .bias = true, .num_kv_heads = num_kv_heads, .rotary_base = rotary_base});
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
                CHECK(source::same_bits(keys, k.slice(2, 0, t + n)));
                CHECK(source::same_bits(values, v.slice(2, 0, t + n)));
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
        CHECK(source::same_bits(before, k.expand({1, 2, 700, 4}).contiguous()));
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
    CHECK(source::same_bits(cache.append(next, next)[1], cat({k.slice(2, 0, 1), next}, 2)));
    cache.clear();
    CHECK(cache.length() == 0);
    CHECK(source::same_bits(cache.append(other, other)[0], other));  // other shapes
    CHECK(contains(message_of<ValueError>([&] { cache.truncate(3); }), "truncate to 3 tokens; it holds 2"));
    CHECK(contains(message_of<ValueError>([&] { cache.truncate(-1); }), "-1"));
    CHECK(contains(message_of<ValueError>([&] { nn::KeyValueCache(0); }), "at least 1, not 0"));
}

TEST_CASE("what does not follow what a cache holds is refused, and the cache stays as it was", "[nn][cache]") {
    nn::KeyValueCache cache(6);
    const auto of = [](const Shape& shape, DType dtype = float64) { return zeros(shape, dtype); };
    cache.append(random({2, 3, 5, 4}), random({2, 3, 5, 6}));
    const Tensor before = cache.append(of({2, 3, 0, 4}), of({2, 3, 0, 6}))[0].clone();
    const auto refused = [&](const Tensor& k, const Tensor& v) {
        const std::string message = message_of<ShapeError>([&] { cache.append(k, v); });
        CHECK(cache.length() == 5);
        return message;
    };
    const std::string follow = refused(of({1, 3, 1, 4}), of({1, 3, 1, 6}));
    for (const char* part :
         {"keys (1, 3, 1, 4)", "the 5 cached tokens, keys (2, 3, 5, 4) and values (2, 3, 5, 6)", "clear()"})
        CHECK(contains(follow, part));
    CHECK(contains(refused(of({2, 3, 1, 5}), of({2, 3, 1, 6})), "do not fit"));      // d_k
    CHECK(contains(refused(of({2, 3, 1, 4}), of({2, 3, 1, 4})), "do not fit"));      // d_v
    CHECK(contains(refused(of({2, 1, 1, 4}), of({2, 1, 1, 6})), "do not fit"));      // G
    CHECK(contains(refused(of({3, 1, 4}), of({3, 1, 6})), "do not fit"));            // rank
    CHECK(contains(refused(of({2, 3, 1, 4}), of({2, 3, 2, 6})), "(B, G, T, d_k)"));  // tokens of k and v
    CHECK(contains(refused(of({2, 3, 1, 4}), of({2, 2, 1, 6})), "(2, 2, 1, 6)"));    // heads of k and v
    CHECK(contains(refused(of({1, 4}), of({1, 6})), "keys (1, 4) and values (1, 6) must be (B, G, T, d_k)"));
    CHECK(contains(refused(of({2, 3, 2, 4}), of({2, 3, 2, 6})),
                   "2 more tokens after 5 are 7, but its capacity is 6"));
    CHECK(contains(message_of<DTypeError>([&] {
                       cache.append(of({2, 3, 1, 4}, float32), of({2, 3, 1, 6}, float32));
                   }),
                   "holds float64, not float32"));
    CHECK(contains(message_of<DTypeError>([&] {
                       cache.append(of({2, 3, 1, 4}), of({2, 3, 1, 6}, float32));
                   }),
                   "keys of float64 and values of float32"));
    CHECK(contains(message_of<DTypeError>([&] {
                       cache.append(of({2, 3, 1, 4}, int64), of({2, 3, 1, 6}, int64));
                   }),
                   "int64"));
    CHECK(cache.length() == 5);
    CHECK(source::same_bits(cache.append(of({2, 3, 0, 4}), of({2, 3, 0, 6}))[0], before));
}

TEST_CASE("a cache refuses what takes part in the graph, and takes it under NoGrad", "[nn][cache]") {
    const Tensor k = random({1, 2, 1, 4}).requires_grad_(), v = random({1, 2, 1, 4});
    nn::KeyValueCache cache;
    for (const auto& [keys, values] : {std::pair(k, v), std::pair(v, k)})
        CHECK(contains(message_of<GraphError>([&, a = keys, b = values] { cache.append(a, b); }), "NoGrad"));
    CHECK(cache.length() == 0);
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
                const Composed path(composed);
                const auto attention = make_attention(dtype, num_kv_heads, rotary_base);
                const Tensor x = random({B, T, C}, 4, dtype), full = attention(x), one = attention(x[1]);
                for (const Steps& steps : all_splits(T)) {
                    INFO(num_kv_heads << " heads of keys, " << name(dtype) << ", composed " << composed << ": "
                                      << name_of(steps));
                    const double tolerance = dtype == float64 ? 1e-12 : 1e-5;
                    CHECK(distance(in_steps(attention, x, steps), full) < tolerance);
                    CHECK(distance(in_steps(attention, x[1], steps), one) < tolerance);  // unbatched
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
    CHECK(distance(attention(x.slice(1, 5, T), cache, rest | Mask::padding({T, 6})), full.slice(1, 5, T)) <
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
        CHECK(distance(full, attention(x)) > 1e-3);
        for (const Steps& steps : all_splits(T)) {
            INFO(name_of(steps));
            nn::KeyValueCache cache;
            std::vector<Tensor> said;
            for (std::int64_t t = 0; const std::int64_t n : steps) {
                said.push_back(attention(x.slice(1, t, t + n), cache, mask));
                t += n;
            }
            CHECK(distance(cat(said, 1), full) < 1e-12);
        }
    }
    const auto attention = make_attention(float64);
    nn::KeyValueCache cache;
    (void)attention(x, cache, mask);
    CHECK(contains(message_of<ShapeError>([&] { (void)attention(x.slice(1, 0, 1), cache, mask); }),
                   ": (2, 7) for 2 samples of 8 keys; give one for each key, those in a cache included"));
    CHECK(cache.length() == T);
}

TEST_CASE("cached attention beyond max_seq_len, or with a mask that does not fit, leaves the cache alone",
          "[nn][cache]") {
    Rng rng(1);
    const nn::CausalMultiHeadAttention attention(C, H, rng, {.max_seq_len = 8});
    const Tensor x = random({B, T, C}, 4, float32);
    nn::KeyValueCache cache;
    const NoGrad off;
    const Tensor first = attention(x, cache);
    CHECK(contains(message_of<ShapeError>([&] { return attention(x.slice(1, 0, 2), cache); }),
                   "2 tokens in (2, 2, 12) after 7 in the cache, but max_seq_len is 8"));
    CHECK(cache.length() == 7);
    const Mask of_two = Mask::blocked(zeros({1, 7}, boolean));  // a mask of 7 keys; there are 8
    CHECK(
        contains(message_of<ShapeError>([&] { return attention(x.slice(1, 0, 1), cache, of_two); }), "(1, 7)"));
    CHECK(cache.length() == 7);
    CHECK_THROWS_AS(attention(x.slice(0, 0, 1).slice(1, 0, 1), cache), ShapeError);  // another batch
    CHECK(cache.length() == 7);
    cache.clear();
    CHECK(source::same_bits(attention(x, cache), first));
    const EnableGrad on;
    CHECK(contains(message_of<GraphError>([&] { return attention(x.slice(1, 0, 1), cache); }), "NoGrad"));
    CHECK(cache.length() == 7);
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
    CHECK(source::distance(from.append(other, other)[0], other) == 0);
    CHECK(source::distance(to.append(k, k)[1], cat({k, k}, 2)) == 0);
}
