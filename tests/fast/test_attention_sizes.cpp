// Fused attention at sizes on both sides of each constant that switches its path, against its definition in
// small operations and against its heads one by one.
// Property P8: what attention takes of memory grows with T, not with T², whatever the mask.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "catch.h"
#include "environment.h"
#include "fast/simd.h"
#include "kernel_sizes.h"
#include "source.h"
#include "weft/weft.h"

using namespace source;
using namespace weft::kernels::fast;
using sizes::neighbours, sizes::Sizes;
using namespace weft;

namespace {

struct Attended {
    Tensor y, dq, dk, dv;
};

Attended attended(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dy,
                  const AttentionOptions& options, bool composed) {
    const Plain path(Plain::operations, composed);
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

constexpr std::int64_t B = 4;

// Masks of T queries and T keys that hold no T × T array, except the last, to which it belongs already.
Mask mask_of(const std::string& name, std::int64_t T) {
    const Mask padding = Mask::padding({T, T - 1, T / 2, 1});
    const Tensor keys = ones({B, 1, T}, boolean);  // those that may be attended to
    if (name == "padding") return padding | Mask::causal();
    if (name == "two paddings") return padding | Mask::causal() | Mask::padding({T - 2, T, T, T});
    if (name == "keys") return padding | Mask::keys(keys.reshape({B, T})) | Mask::allowed(keys);
    if (name == "documents") return Mask::causal() | Mask::documents((arange(T).to(float64) / 100).to(int64));
    if (name == "mixed documents") return padding | Mask::documents((rand({B, T}) * 5).to(int64));
    if (name == "expanded") return padding | Mask::allowed(keys.expand({B, T, T}));
    if (name == "explicit") return padding | Mask::blocked(zeros({T, T}, boolean));
    return Mask::causal();
}

// By how many bytes attention, forward and backward, raises the largest resident set of a process of its own.
double bytes_of(const std::string& mask, std::int64_t T) {
    const std::string command = "WEFT_TEST_MASK='" + mask + "' WEFT_TEST_TOKENS=" + std::to_string(T) + " '" +
                                test_program + "' 'the memory of attention is linear in T' 2>&1 >/dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    double bytes = NAN;
    CHECK(std::fscanf(pipe, "%lf", &bytes) == 1);
    CHECK(pclose(pipe) == 0);
    return bytes;
}

void run_attention(const std::string& name, std::int64_t T) {
    Rng rng(1);
    std::vector<Tensor> qkv;
    for (int i = 0; i < 3; ++i) qkv.push_back(randn({B, 1, T, 16}, rng).requires_grad_());
    const Mask mask = mask_of(name, T);
    const double before = training::peak_memory();
    const AttentionOptions options{.mask = mask, .dropout = name == "dropout" ? 0.1 : 0, .rng = &rng};
    sum(scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], options)).backward();
    std::fprintf(stderr, "%.0f", (training::peak_memory() - before) * (1 << 20));
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

TEST_CASE("the memory of attention is linear in T", "[attention]") {
    if (sanitized) return skip("AddressSanitizer has memory of its own: that of attention is linear in T");
    if (const char* tokens = std::getenv("WEFT_TEST_TOKENS"))
        return run_attention(std::getenv("WEFT_TEST_MASK"), std::atol(tokens));
    for (const char* mask : {"causal", "padding", "two paddings", "expanded", "explicit", "dropout", "keys",
                             "documents", "mixed documents"}) {
        std::vector<double> bytes;
        for (const std::int64_t T : {1024, 2048, 4096, 8192}) bytes.push_back(bytes_of(mask, T));
        INFO(mask << ", T 1024 to 8192: " << bytes[0] << ", " << bytes[1] << ", " << bytes[2] << ", "
                  << bytes[3]);
        CHECK(bytes[3] < 0.5 * 8192 * 8192);  // half of one mask, an eighth of one head's scores
        CHECK(bytes[3] < 2.5 * bytes[2]);
        CHECK(bytes[2] < 2.5 * bytes[1]);
        CHECK(bytes[1] < 4 * bytes[0]);  // from 2048 keys on, tiles are larger
    }
}
