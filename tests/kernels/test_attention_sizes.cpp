// Fused attention at sizes on both sides of each constant that switches its path, against its definition in
// small operations and against its heads one by one.
#include "kernel_sizes.h"
#include "kernels/fast/sizes.h"
#include "source.h"

using namespace source;
using namespace weft::kernels::fast;
using sizes::neighbours, sizes::Sizes;

namespace {

struct Attended {
    Tensor y, dq, dk, dv;
};

Attended attended(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy,
                  const AttentionOptions& options, bool composed) {
    const Composed path(composed);
    const std::vector<Tensor> leaves{q.detach().requires_grad_(), k.detach().requires_grad_(),
                                     v.detach().requires_grad_()};
    const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], options);
    const std::vector<Tensor> d = grad({y}, leaves, {dy});
    return {y.detach(), d[0], d[1], d[2]};
}

void check_close(const Attended& found, const Attended& expected, double close) {
    CHECK(difference(found.y, expected.y) < close);
    CHECK(difference(found.dq, expected.dq) < close);
    CHECK(difference(found.dk, expected.dk) < close);
    CHECK(difference(found.dv, expected.dv) < close);
}

const char* const masks[]{"none", "causal", "blocked", "bias", "documents", "keys", "all of them"};

AttentionOptions options_of(int mask, std::int64_t T, std::int64_t S, DType dtype) {
    AttentionOptions options;
    if (mask == 1 || mask == 6) options.mask = Mask::causal();
    if (mask == 2 || mask == 6) options.mask = options.mask | Mask::blocked(random({T, S}, 5) > 0.7);
    if ((mask == 4 || mask == 6) && T <= S)  // texts of 100 tokens
        options.mask = options.mask | Mask::documents((arange(S).to(float64) / 100).to(int64));
    if (mask == 5 || mask == 6) options.mask = options.mask | Mask::keys(random({S}, 8) > -1);
    if (mask == 3 || mask == 6)
        options.bias = masked_fill(random({1, T, S}, 6, dtype), random({1, T, S}, 7) > 1, -INFINITY);
    return options;
}

}  // namespace

TEST_CASE("attention around the ends of its tiles of queries and keys, forward and backward",
          "[attention][tiles]") {
    Sizes queries = neighbours({tile_queries, tile_max_queries}),
          keys = neighbours({tile_queries * tile_keys_per_query, 2 * tile_queries * tile_keys_per_query,
                             tile_many_keys, tile_many_keys + tile_max_queries * tile_keys_per_query});
    queries.push_back(1);
    keys.push_back(3);  // fewer than the queries: under a causal mask the first see nothing
    int turn = 0;
    for (const std::int64_t T : queries)
        for (const std::int64_t S : keys) {
            const int mask = turn++ % 7;
            for (const DType dtype : {float32, float64}) {
                if (dtype == float64 && turn % 3 != 0) continue;  // the same code
                CAPTURE(T, S, masks[mask], name(dtype));
                const Tensor q = random({1, 1, T, 3}, 1, dtype), k = random({1, 1, S, 3}, 2, dtype),
                             v = random({1, 1, S, 2}, 3, dtype), dy = random({1, 1, T, 2}, 4, dtype);
                const AttentionOptions options = options_of(mask, T, S, dtype);
                check_close(attended(q, k, v, dy, options, false), attended(q, k, v, dy, options, true),
                            dtype == float32 ? 2e-4 : 1e-12);
            }
        }
}

TEST_CASE("heads that share a task give the bits that each gives alone", "[attention][tiles]") {
    struct Case {
        std::int64_t T, S, d_k, num_heads;
    };
    std::vector<Case> all;
    const std::int64_t of_a_task = attention_grain / (8 * 16 * 4) + 1;
    for (const std::int64_t num_heads : neighbours({1, of_a_task, 2 * of_a_task}))
        all.push_back({8, 16, 4, num_heads});
    // about one head's worth: a task holds two heads, or one
    for (const std::int64_t T : neighbours({attention_grain / (64 * 4)})) all.push_back({T, 64, 4, 3});
    const int threads = get_num_threads();
    for (const Case& c : all)
        for (const int team : {1, 3}) {
            CAPTURE(c.T, c.S, c.num_heads, team);
            set_num_threads(team);
            const Tensor q = random({1, c.num_heads, c.T, c.d_k}, 1, float32),
                         k = random({1, c.num_heads, c.S, c.d_k}, 2, float32),
                         v = random({1, c.num_heads, c.S, 2}, 3, float32),
                         dy = random({1, c.num_heads, c.T, 2}, 4, float32);
            const AttentionOptions options{.mask = Mask::causal()};
            const Attended together = attended(q, k, v, dy, options, false);
            bool same = true;
            for (std::int64_t h = 0; h < c.num_heads; ++h) {
                const auto one = [&](const Tensor& x) { return x.slice(1, h, h + 1); };
                const Attended alone = attended(one(q), one(k), one(v), one(dy), options, false);
                same = same && same_bits(alone.y, one(together.y)) && same_bits(alone.dq, one(together.dq)) &&
                       same_bits(alone.dk, one(together.dk)) && same_bits(alone.dv, one(together.dv));
            }
            CHECK(same);
        }
    set_num_threads(threads);
}
