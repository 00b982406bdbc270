// Documents that share a row, and windows: attention gives the bits of the matrix that Mask::documents or
// Mask::window stands for, what each document gives alone, and computes the tiles where a query sees a key. B
// samples, H heads of queries, G of keys, T queries, S keys.
#include <cmath>
#include <functional>

#include "attention_cases.h"
#include "catch.h"
#include "environment.h"

using namespace source;

namespace {

// Ids of S tokens, in texts of `length` tokens, one after the other.
Tensor in_texts(std::int64_t S, double length) { return (arange(S).to(float64) / length).to(int64); }

struct Case {
    std::int64_t B, H, G, T, S;
    DType dtype = float64;
    bool causal = false, has_bias = false;
    double dropout = 0;
};

struct Documents {
    const char* name;
    std::function<Tensor(const Case&)> ids;
};

const std::vector<std::int64_t> widths{1, 3, 64, 200, 5000};

const std::vector<Documents> kinds{
    {"texts of 37 tokens", [](const Case& c) { return in_texts(c.S, 37); }},
    {"texts of 300 tokens", [](const Case& c) { return in_texts(c.S, 300); }},
    {"the last text first", [](const Case& c) { return -in_texts(c.S, 70); }},
    {"one text", [](const Case& c) { return zeros({c.S}, int64); }},
    {"every token alone", [](const Case& c) { return arange(c.S); }},
    {"three texts, mixed",
     [](const Case& c) {
         return (abs(random({c.B, c.S}, 9)) * 2).to(int64);
     }},
    {"other texts in each sample", [](const Case& c) {
         return stack({in_texts(c.S, 90), in_texts(c.S, 41) * 5}, 0).slice(0, 0, c.B);
     }}};

// y, the gradients of q, k, v and the bias, and, if they are asked for, the weights.
std::vector<Tensor> everything(const Case& c, const Mask& mask, bool wants_weights = false) {
    std::vector<Tensor> leaves{random({c.B, c.H, c.T, 5}, 1, c.dtype), random({c.B, c.G, c.S, 5}, 2, c.dtype),
                               random({c.B, c.G, c.S, 3}, 3, c.dtype)};
    if (c.has_bias) leaves.push_back(random({c.H, c.T, c.S}, 4, c.dtype));
    for (Tensor& x : leaves) x.requires_grad_();
    Rng drops(11);
    AttentionOptions options{.mask = mask, .dropout = c.dropout, .rng = &drops};
    if (c.causal) options.mask = options.mask | Mask::causal();
    if (c.has_bias) options.bias = leaves[3];
    std::vector<Tensor> found;
    Tensor y;
    if (wants_weights) {
        const auto both = scaled_dot_product_attention_with_weights(leaves[0], leaves[1], leaves[2], options);
        y = both.output;
        found.push_back(both.weights.detach());
    } else {
        y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], options);
    }
    found.push_back(y.detach());
    for (const Tensor& g : grad({y}, leaves, {random(y.shape(), 5, c.dtype)})) found.push_back(g);
    return found;
}

Mask matrix_of(const Mask& mask, const Case& c) {
    return Mask::blocked(mask.materialize(c.B, c.H, c.T, c.S).contiguous());
}

bool all_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!same_bits(a[i], b[i])) return false;
    return true;
}

// A mask gives the bits of the matrix that it stands for, by every kernel.
void check_matrix(const Case& c, const Mask& mask) {
    const Mask matrix = matrix_of(mask, c);
    for (const bool weights : {false, true}) {
        CAPTURE(weights);
        CHECK(all_same(everything(c, mask, weights), everything(c, matrix, weights)));
    }
    if (c.T * c.S > 10'000) return;  // the others have no tiles
    const Plain plain(Plain::primitives);
    CHECK(all_same(everything(c, mask), everything(c, matrix)));
    const Plain path(Plain::operations);
    CHECK(all_same(everything(c, mask), everything(c, matrix)));
}

const std::vector<Case> cases{{2, 4, 2, 7, 9, float64, false, true, 0.1},
                              {1, 1, 1, 150, 601, float32},
                              {2, 2, 2, 300, 300, float64, true},
                              {1, 2, 1, 520, 520, float32, true, true, 0.2},
                              {2, 1, 1, 1, 300, float64, true},
                              {1, 1, 1, 130, 2100, float32, true},  // larger tiles
                              {2, 2, 1, 70, 600, float64, false, true, 0.1}};

}  // namespace

TEST_CASE("documents give the bits of the matrix that they stand for, by every kernel",
          "[attention][documents]") {
    for (const Case& c : cases)
        for (const Documents& kind : kinds) {
            if (sanitized && &kind != &kinds[0]) continue;
            INFO(c.T << " queries, " << c.S << " keys, " << kind.name);
            check_matrix(c, Mask::documents(kind.ids(c)));
        }
}

TEST_CASE("a window gives the bits of the matrix that it stands for, by every kernel", "[attention][window]") {
    for (const Case& c : cases)
        for (const std::int64_t width : widths) {
            if (sanitized && width != widths[2]) continue;
            INFO(c.T << " queries, " << c.S << " keys, a window of " << width);
            check_matrix(c, Mask::window(width));
            if (width == widths[2]) {
                check_matrix(c, Mask::window(width) | Mask::documents(in_texts(c.S, 90)));
                check_matrix(c, Mask::window(9000) | Mask::window(width));
            }
            const Tensor blocked = Mask::window(width).materialize(1, 1, c.T, c.S)[0][0];
            const Tensor own = arange(c.T).unsqueeze(1) + static_cast<double>(c.S - c.T);
            CHECK(all(blocked == (arange(c.S) <= own - static_cast<double>(width))));
        }
    const Case c{1, 3, 1, 600, 600, float32, true, true, 0.1};
    const std::vector<Tensor> expected = everything(c, Mask::window(100));
    for (const int n : {1, 2, 3, 16}) {
        const Threads threads(n);
        CHECK(all_same(everything(c, Mask::window(100)), expected));
    }
    // Tiles before the window cost nothing: far fewer products than with all keys.
    const Tensor x = random({1, 1, 2048, 8}, 1, float32);
    const auto count = [&](const Mask& mask) {
        return source::multiply_adds([&] { (void)scaled_dot_product_attention(x, x, x, {.mask = mask}); });
    };
    CHECK(count(Mask::causal() | Mask::window(64)) * 2 < count(Mask::causal()));
    CHECK(message_of<ValueError>([] { (void)Mask::window(0); }) ==
          "Mask::window: a width of 0; a query sees itself at least, so use 1 or more");
    CHECK_FALSE(Mask::window(4).blocks_nothing());
    CHECK_FALSE((Mask::causal() | Mask::window(4)).only_causal());
    CHECK((Mask::window(7) | Mask::window(4)).width() == 4);
}

TEST_CASE("documents have the same bits at every number of threads", "[attention][documents][threads]") {
    const Case c{1, 3, 1, 600, 600, float32, true, true, 0.1};
    const Mask mask = Mask::documents(in_texts(c.S, 130));
    const std::vector<Tensor> expected = everything(c, mask);
    for (const int n : {1, 2, 3, 16}) {
        const Threads threads(n);
        CHECK(all_same(everything(c, mask), expected));
    }
}

TEST_CASE("what is not finite in one document changes no bit of another, in any tile",
          "[attention][documents][poison]") {
    for (const std::int64_t H : {1, 128})  // 128: the keys are one part of several tiles
        for (const std::int64_t first : {0, 50, 250, 350, 450, 550}) {
            const std::int64_t S = 600;
            const Tensor ids = in_texts(S, 50), own = (arange(S) >= static_cast<double>(first)) &&
                                                      (arange(S) < static_cast<double>(first + 50));  // (S,)
            const Tensor here = own.unsqueeze(1);                                                     // (S, 1)
            for (const bool causal : {false, true})
                for (int which = 0; which < 4; ++which) {  // q, k, v or all of them
                    if (H > 1 && (causal || first == 0)) continue;
                    CAPTURE(H, first, causal, which);
                    const auto run = [&](double value) {
                        std::vector<Tensor> leaves{random({1, H, S, 2}, 1, float32),
                                                   random({1, H, S, 2}, 2, float32),
                                                   random({1, H, S, 2}, 3, float32)};
                        for (int i = 0; i < 3; ++i) {
                            auto& x = leaves[static_cast<std::size_t>(i)];
                            if (which == 3 || which == i) x = masked_fill(x, here, value);
                            x.requires_grad_();
                        }
                        const Mask mask = Mask::documents(ids) | (causal ? Mask::causal() : Mask());
                        const Tensor y =
                            scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], {.mask = mask});
                        std::vector<Tensor> found = grad({y}, leaves, {random(y.shape(), 4, float32)});
                        found.push_back(y.detach());
                        return found;
                    };
                    const std::vector<Tensor> clean = run(1);
                    for (const double poison : {double(NAN), double(INFINITY)}) {
                        if (H > 1 && std::isinf(poison)) continue;
                        const std::vector<Tensor> found = run(poison);
                        for (std::size_t i = 0; i < found.size(); ++i) {
                            CAPTURE(i);
                            CHECK(same_bits(masked_fill(found[i], here, 0), masked_fill(clean[i], here, 0)));
                        }
                        CHECK_FALSE(all(isfinite(found[3])));
                    }
                }
        }
}

TEST_CASE("gradients of gradients of documents are those of the matrix", "[attention][documents]") {
    const Tensor ids = tensor({0, 0, 1, 1, 1, 0}, int64), x = random({6, 3}), seed = random({6, 3}, 2);
    const auto second = [&](const Mask& mask) {
        Tensor leaf = x.clone().requires_grad_();
        const Tensor y = scaled_dot_product_attention(leaf, leaf, leaf, {.mask = mask});
        const Tensor dx = grad({y}, {leaf}, {seed}, {.create_graph = true})[0];
        return grad({sum(dx * dx)}, {leaf})[0];
    };
    const Tensor found = second(Mask::documents(ids) | Mask::causal());
    CHECK(max(abs(found)).item() > 0.1);
    CHECK(same_bits(found, second(Mask::causal() | Mask::blocked(ids.unsqueeze(1) != ids))));
}

TEST_CASE("tiles in which no documents meet are not computed, forward or backward", "[attention][documents]") {
    constexpr std::int64_t B = 2, H = 3, T = 1024, d_k = 8;
    constexpr std::int64_t one = B * H * T * T * d_k;  // the scores, or the weights times the values
    const Tensor qkv = random({B, T, 3 * H * d_k}, 1, float32).requires_grad_();
    const auto count = [&](const Mask& mask) {
        const CountMultiplyAdds counter;
        const Tensor y = sum(multi_head_attention(qkv, H, {.mask = mask}));
        const std::int64_t forward = counter.count();
        y.backward();
        return std::pair(forward, counter.count() - forward);
    };
    CHECK(count({}) == std::pair(2 * one, 5 * one));
    // Four texts, each of four tiles of queries and one of keys.
    const Mask four = Mask::documents(in_texts(T, T / 4));
    CHECK(count(four) == std::pair(2 * one / 4, 5 * one / 4));
    CHECK(count(Mask::documents(-in_texts(T, T / 4))) == std::pair(2 * one / 4, 5 * one / 4));
    CHECK(count(four | Mask::causal()) == std::pair(2 * one / 4 * 10 / 16, 5 * one / 4 * 10 / 16));
    CHECK(count(Mask::documents(zeros({T}, int64))) == std::pair(2 * one, 5 * one));
}
