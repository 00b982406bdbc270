// Random cases of attention: sizes, types, masks of every kind, and what can be seen in them.
// B samples, H query heads, G key heads, T queries, S keys, d_k and d_v widths.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "source.h"

namespace source {

struct AttentionCase {
    std::int64_t B, H, G, T, S, d_k, d_v;
    DType dtype;
    double largest;  // bound of |logit|
    Mask mask;
    Tensor bias;         // undefined, or with values and −∞
    Tensor q, k, v, dy;  // (B, H, T, d_k), (B, G, S, d_k), (B, G, S, d_v), (B, H, T, d_v); v's last column is 1
    std::vector<bool> visible;  // (B, H, T, S)

    AttentionOptions options() const {
        return {.mask = mask, .bias = bias, .scale = 1 / static_cast<double>(d_k)};
    }
    bool is_visible(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
        return visible[static_cast<std::size_t>(((b * H + h) * T + i) * S + j)];
    }
    bool packs() const { return G == H && T == S && d_k == d_v; }  // fits a packed projection
    std::int64_t key_head(std::int64_t h) const { return h / (H / G); }
    bool fully_masked(std::int64_t b, std::int64_t h, std::int64_t i) const {
        for (std::int64_t j = 0; j < S; ++j)
            if (is_visible(b, h, i, j)) return false;
        return true;
    }
};

// Uniform in ±bound.
inline Tensor uniform(const Shape& shape, double bound, Rng& rng, DType dtype) {
    return (rand(shape, rng, float64) * (2 * bound) - bound).to(dtype);
}

inline Tensor bools(const Shape& shape, double share, Rng& rng) { return rand(shape, rng) < share; }

inline Mask random_mask(std::int64_t B, std::int64_t H, std::int64_t T, std::int64_t S, Rng& rng) {
    const double shares[]{0, 0.2, 0.6, 1};
    const auto share = [&] { return shares[rng.randint(0, 4)]; };
    const auto coin = [&](double p) { return rng.uniform() < p; };
    Mask mask;
    if (coin(0.4)) mask = mask | Mask::causal();
    if (coin(0.4)) {
        std::vector<std::int64_t> lengths;
        for (std::int64_t b = 0; b < B; ++b) lengths.push_back(rng.randint(0, S + 1));
        mask = mask | Mask::padding(lengths);
    }
    if (coin(0.2)) mask = mask | Mask::window(rng.randint(1, S + 2));
    if (coin(0.2)) mask = mask | Mask::blocked(bools({T, S}, share(), rng));
    if (coin(0.2)) mask = mask | Mask::allowed(bools({B, T, S}, 1 - share(), rng));
    if (coin(0.2))
        mask = mask |
               Mask::blocked(bools({coin(0.5) ? B : 1, coin(0.5) ? H : 1, coin(0.5) ? T : 1, S}, share(), rng));
    if (coin(0.2)) mask = mask | Mask::keys(bools(coin(0.5) ? Shape{B, S} : Shape{S}, 1 - share(), rng));
    if (T <= S && coin(0.2)) {
        Tensor ids = (rand(coin(0.5) ? Shape{B, S} : Shape{S}, rng) * 3).to(int64);
        if (coin(0.5)) ids = cumsum(ids, -1);  // neighbours, as in packed texts
        mask = mask | Mask::documents(ids);
    }
    return mask;
}

inline AttentionCase attention_case(std::uint64_t seed) {
    Rng rng(seed);
    AttentionCase c;
    const auto size = [&](std::int64_t most) { return rng.uniform() < 0.02 ? 0 : rng.randint(1, most + 1); };
    const bool large = rng.uniform() < 0.02;  // over the edges of a tile of 64
    c.B = size(3), c.G = rng.randint(1, 3), c.H = c.G * rng.randint(1, 3);
    c.T = size(large ? 140 : 8), c.S = rng.uniform() < 0.5 ? c.T : size(large ? 140 : 8);
    c.d_k = rng.randint(1, 9), c.d_v = rng.randint(2, 9);
    if (rng.uniform() < 0.25) c.G = c.H, c.S = c.T, c.d_k = c.d_v;
    c.dtype = rng.uniform() < 0.5 ? float32 : float64;
    const double bounds[]{1, 30, 1e4};
    c.largest = bounds[rng.randint(0, 3)];
    c.mask = random_mask(c.B, c.H, c.T, c.S, rng);
    if (rng.uniform() < 0.2) {
        const Shape shape{1, c.H, c.T, c.S};
        const Tensor excluded = bools(shape, 0.2, rng);
        c.bias = masked_fill(uniform(shape, 2, rng, c.dtype), excluded, -INFINITY);
    }
    const double root = std::sqrt(c.largest);
    c.q = uniform({c.B, c.H, c.T, c.d_k}, root, rng, c.dtype);
    c.k = uniform({c.B, c.G, c.S, c.d_k}, root, rng, c.dtype);
    c.v = uniform({c.B, c.G, c.S, c.d_v}, 2, rng, c.dtype);
    c.v.slice(3, c.d_v - 1, c.d_v).fill_(1);  // so that the output's last column is the sum of the weights
    c.dy = uniform({c.B, c.H, c.T, c.d_v}, 1, rng, c.dtype);
    const Shape scores{c.B, c.H, c.T, c.S};
    Tensor blocked = c.mask.materialize(c.B, c.H, c.T, c.S).expand(scores);
    if (c.bias.defined()) blocked = blocked || c.bias.expand(scores) == -INFINITY;
    c.visible = (!blocked).to_vector<bool>();
    return c;
}

// The output and the gradients of one run, as doubles, which hold every float exactly; and, where they were
// asked for, the gradients of Σ (dq·a + dk·b + dv·c), a … c numbers of any size, in q, k, v and dy.
struct AttentionRun {
    std::vector<double> y, dq, dk, dv, ddq, ddk, ddv, ddy;
};

// packed: multi_head_attention on q, k and v side by side; weighted: the form that returns the weights, which
// must be 0 where nothing is seen; dropped: with dropout.
enum class Path { fused, composed, packed, weighted, dropped };
inline const char* name(Path path) {
    const char* const names[]{"fused", "composed", "packed", "weighted", "dropped"};
    return names[static_cast<int>(path)];
}

inline Tensor attend(const AttentionCase& c, const Tensor& q, const Tensor& k, const Tensor& v, Path path) {
    const Plain composed(Plain::operations, path == Path::composed);
    AttentionOptions options = c.options();
    if (path == Path::packed) {
        const Tensor qkv = cat({nn::merge_heads(q), nn::merge_heads(k), nn::merge_heads(v)}, -1);
        return nn::split_heads(multi_head_attention(qkv, c.H, options), c.H);
    }
    if (path == Path::weighted) {
        const auto [y, weights] = scaled_dot_product_attention_with_weights(q, k, v, options);
        if (!all(from_vector(c.visible, weights.shape()) || weights == 0))
            throw ValueError("a blocked weight is not 0");
        return y;
    }
    Rng rng(7);
    if (path == Path::dropped) options.dropout = 0.3, options.rng = &rng;
    return scaled_dot_product_attention(q, k, v, options);
}

inline AttentionRun run_attention(const AttentionCase& c, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const Tensor& dy, Path path, bool second_order = false) {
    const auto values = [](const Tensor& x) { return x.detach().to(float64).to_vector<double>(); };
    const std::vector<Tensor> leaves{q.detach().requires_grad_(), k.detach().requires_grad_(),
                                     v.detach().requires_grad_(), dy.detach().requires_grad_()};
    const std::vector<Tensor> inputs{leaves[0], leaves[1], leaves[2]};
    const Tensor y = attend(c, leaves[0], leaves[1], leaves[2], path);
    const Plain composed(Plain::operations, path == Path::composed);
    const std::vector<Tensor> d = grad({y}, inputs, {leaves[3]}, {.create_graph = second_order});
    AttentionRun run{values(y), values(d[0]), values(d[1]), values(d[2]), {}, {}, {}, {}};
    if (!second_order) return run;
    Rng rng(11);
    std::vector<Tensor> seeds;
    for (const Tensor& g : d) seeds.push_back(uniform(g.shape(), 1, rng, c.dtype));
    const std::vector<Tensor> dd = grad(d, leaves, seeds);
    run.ddq = values(dd[0]), run.ddk = values(dd[1]), run.ddv = values(dd[2]), run.ddy = values(dd[3]);
    return run;
}

}  // namespace source
