// Statement S2.10: decoding with a cache of keys and values. B batch, T tokens, C = d_model, H heads.
#include "catch.h"
#include "source.h"
#include "weft/watch/trace.h"

using namespace source;

namespace {

constexpr std::int64_t B = 2, T = 7, C = 12, H = 3;

nn::Attention causal(std::int64_t num_kv_heads = 0) {
    Rng rng(1);
    return in_double(nn::Attention(C, H, rng, {.causal = true, .bias = true, .num_kv_heads = num_kv_heads}));
}

// The outputs of x's tokens in pieces that end where `ends` says, one after another through one cache.
Tensor in_pieces(const nn::Attention& attention, const Tensor& x, const std::vector<std::int64_t>& ends) {
    const NoGrad off;
    nn::KeyValueCache cache;
    std::vector<Tensor> outputs;
    std::int64_t from = 0;
    for (const std::int64_t end : ends) {
        outputs.push_back(attention(x.slice(-2, from, end), cache));
        from = end;
    }
    CHECK(cache.length() == x.size(-2));
    return cat(outputs, -2);
}

}  // namespace

TEST_CASE("S2.10 one token at a time through the cache equals the full pass at every position",
          "[S2.10][source]") {
    for (const std::int64_t num_kv_heads : {3, 1}) {
        const auto attention = causal(num_kv_heads);
        const Tensor x = random({B, T, C}), full = attention(x);
        const Tensor step_by_step = in_pieces(attention, x, {1, 2, 3, 4, 5, 6, 7});
        for (std::int64_t t = 0; t < T; ++t)
            CHECK(difference(step_by_step.select(1, t), full.select(1, t)) < 1e-14);
        CHECK(difference(in_pieces(attention, x[1], {1, 2, 3, 4, 5, 6, 7}), full[1]) < 1e-14);  // unbatched
    }
}

TEST_CASE("S2.10 a prefill of any split equals the full pass", "[S2.10][source]") {
    const auto attention = causal();
    const Tensor x = random({B, T, C}), full = attention(x);
    for (int split = 0; split < 1 << (T - 1); ++split) {  // a bit for each place to cut
        std::vector<std::int64_t> ends;
        for (std::int64_t t = 1; t < T; ++t)
            if (split >> (t - 1) & 1) ends.push_back(t);
        ends.push_back(T);
        CAPTURE(split);
        CHECK(difference(in_pieces(attention, x, ends), full) < 1e-14);
    }
}

TEST_CASE("S2.10 only the new token's q, k and v are computed; it attends to the cache and itself",
          "[S2.10][source]") {
    const auto attention = causal();
    const Tensor x = random({B, T, C});
    const NoGrad off;
    const Plain composed(Plain::operations);  // it names the steps
    const auto [Q, K, V] = nn::split_qkv(attention.W_in[0](x), H);
    nn::KeyValueCache cache;
    (void)attention(x.slice(1, 0, 3), cache);
    for (std::int64_t t = 3; t < T; ++t) {
        Trace trace;
        (void)attention(x.slice(1, t, t + 1), cache);
        CHECK(cache.length() == t + 1);
        for (const auto& [name, tensor] : trace.entries()) {
            INFO(name << " " << tensor.shape().str());
            if (name == "QKV") CHECK(tensor.shape() == Shape{B, 1, 3 * C});  // only one token is projected
            if (name == "q") CHECK(difference(tensor, Q.slice(2, t, t + 1)) < 1e-14);
            if (name == "k")
                CHECK(difference(tensor, K.slice(2, 0, t + 1)) < 1e-14);  // the past as it was, and one more
            if (name == "v") CHECK(difference(tensor, V.slice(2, 0, t + 1)) < 1e-14);
            if (name == "weights") {
                CHECK(tensor.shape() == Shape{B, H, 1, t + 1});
                CHECK(min(tensor).item() > 0);  // every cached token, and itself
                CHECK(difference(sum(tensor, -1), ones({B, H, 1}, float64)) < 1e-14);
            }
        }
        CHECK(trace.entries().size() >= 6);
    }
}

TEST_CASE("S2.10 the cost of a step grows with the tokens so far, that of the full pass with their square",
          "[S2.10][source]") {
    // The multiply-adds that the module's kernels ran for `queries` tokens, the last of `keys`.
    const auto attention = causal();
    const NoGrad off;
    const auto cost = [&](std::int64_t queries, std::int64_t keys) {
        nn::KeyValueCache cache;
        if (queries < keys) (void)attention(random({keys - queries, C}), cache);
        const Tensor x = random({queries, C}, 2);
        return multiply_adds([&] { attention(x, cache); }) - queries * 4 * C * C;  // without the projections
    };
    CHECK(cost(1, 8) == 2 * 8 * C);
    CHECK(cost(1, 16) == 2 * cost(1, 8));
    CHECK(cost(16, 16) == 4 * cost(8, 8));
}
