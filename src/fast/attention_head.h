// Tiled attention, which never stores a T × S matrix (Dao et al., "FlashAttention", 2022, algorithms 1 and 4;
// the running maximum is from Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018): one
// head, tile by tile, as forward and backward share it.
#pragma once

#include <cmath>
#include <memory>

#include "core/kernels.h"
#include "fast/gemm.h"
#include "fast/simd.h"

namespace weft::kernels::fast {

// B samples, H heads of queries, G of keys and values, T queries, S keys, d_k and d_v widths.
// q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), or their gradients. G divides H; last strides are 1.
struct QkvArrays {
    Array q, k, v;
};

struct AttentionParams {
    double scale = 1;
    bool causal = false;                  // query i attends to key j only if j ≤ i + (S − T)
    std::int64_t window = INT64_MAX / 2;  // and only if j > i + (S − T) − window
    // int64 (B, S), the last stride 1: query i, which is token i + (S − T), attends to tokens of its id only,
    // in each of these. T ≤ S if there are any.
    std::vector<Array> documents;
    // (B, H, T, S), with strides of 0 where broadcast; the bias is without storage if there is none.
    std::vector<Array> blocked;  // bool, true = masked; a pair that any of them masks is masked
    Array bias;                  // added to the scores; has q's type
    // Applied to the weights, whose element (b, h, i, j) has the number ((b H + h) T + i) S + j.
    Dropout dropout = {};
};

// Backward recomputes the weights from these as e^(score − max) · inverse_sum. Each is (B, H, T) and
// contiguous; both are 0 for a fully masked row. (One number, max − ln inverse_sum, would round the small one
// away where scores are large.)
struct SoftmaxStats {
    Array max, inverse_sum;
};

constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t d) { return (n + d - 1) / d; }

// The size of a tile of scores. Large tiles make efficient products, but half of a tile on the diagonal of a
// causal mask is wasted, which matters if there are few tiles.
struct Tile {
    std::int64_t queries, keys;
    Tile(std::int64_t T, std::int64_t S) {
        const std::int64_t most = S < tile_many_keys ? tile_queries : tile_max_queries;
        queries = std::min(T, most);
        keys = std::min((S + 15) / 16 * 16, tile_keys_per_query * most);  // whole cache lines
    }
    std::int64_t size() const { return queries * keys; }
};

// One (sample, head): its matrices, and which keys its queries attend to. T is the type it computes in, E that
// of the products' operands, T_ the number of queries.
template <class T, class E>
struct Head {
    const QkvArrays& in;
    const AttentionParams& params;
    const std::int64_t H = in.q.shape[1], T_ = in.q.shape[2], S = in.v.shape[2];
    const std::int64_t d_k = in.q.shape[3], d_v = in.v.shape[3];
    const std::int64_t b, h;
    const Tile tile{T_, S};

    Head(std::int64_t index, const QkvArrays& inputs, const AttentionParams& p)
        : in(inputs), params(p), b(index / H), h(index % H) {}

    // The number of query i among all (B, H, T).
    std::int64_t row(std::int64_t i) const { return (b * H + h) * T_ + i; }
    template <class U = E>
    Matrix<U> rows(const Array& x, std::int64_t first) const {  // rows of x (B, H or G, n, d), from row `first`
        const std::int64_t own = h / (H / x.shape[1]);          // a head of keys serves H / G heads of queries
        return {x.data<U>() + b * x.strides[0] + own * x.strides[1] + first * x.strides[2], x.strides[2], 1};
    }
    // How many keys, counted from the first, the queries before `end` may attend to.
    std::int64_t visible_keys(std::int64_t end) const {
        return params.causal ? std::clamp<std::int64_t>(end + (S - T_), 0, S) : S;
    }
    // Element (b, h, i, j) of x (B, H, T, S).
    template <class U>
    U* element(const Array& x, std::int64_t i, std::int64_t j) const {
        return x.data<U>() + b * x.strides[0] + h * x.strides[1] + i * x.strides[2] + j * x.strides[3];
    }
    // The ids of this sample's tokens from key j on, and from query i on.
    const std::int64_t* ids(const Array& documents, std::int64_t j) const {
        return documents.data<std::int64_t>() + b * documents.strides[0] + j;
    }
    const std::int64_t* query_ids(const Array& documents, std::int64_t i) const {
        return ids(documents, i + (S - T_));
    }
    // The first key in the window of query i; none before it is visible.
    std::int64_t first_key(std::int64_t i) const { return i + (S - T_) + 1 - params.window; }
    // Whether a tile's keys all lie before the window of its first query, or the ids of its queries all lie
    // below those of its keys, or above: then no query sees a key.
    bool is_apart(std::int64_t i0, std::int64_t n_q, std::int64_t j0, std::int64_t n_k) const {
        return j0 + n_k <= first_key(i0) ||
               std::any_of(params.documents.begin(), params.documents.end(), [&](const Array& documents) {
                   const std::int64_t *q = query_ids(documents, i0), *k = ids(documents, j0);
                   const auto [q_low, q_high] = std::minmax_element(q, q + n_q);
                   const auto [k_low, k_high] = std::minmax_element(k, k + n_k);
                   return *q_high < *k_low || *k_high < *q_low;
               });
    }
    bool is_visible(std::int64_t i, std::int64_t j) const {
        return !(params.causal && j > i + (S - T_)) && j >= first_key(i) &&
               std::all_of(params.documents.begin(), params.documents.end(),
                           [&](const Array& ids_of) { return *query_ids(ids_of, i) == *ids(ids_of, j); }) &&
               std::none_of(params.blocked.begin(), params.blocked.end(),
                            [&](const Array& blocked) { return *element<bool>(blocked, i, j); });
    }
    // How far apart the rows of a tile of n_k keys lie: oneDNN is fast where they touch.
    std::int64_t width(std::int64_t n_k) const { return std::is_same_v<T, E> ? tile.keys : n_k; }
    // s = scale · q kᵀ + bias, −∞ where masked: n_q queries from i0 on, n_k keys from j0 on, in rows width(n_k)
    // apart.
    void scores(T* s, std::int64_t i0, std::int64_t n_q, std::int64_t j0, std::int64_t n_k) const {
        gemm<T, E>(n_q, n_k, d_k, static_cast<T>(params.scale), rows(in.q, i0), rows(in.k, j0).transposed(),
                   T(0), {s, width(n_k), 1});
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = s + i * width(n_k);
            if (params.bias.storage) {
                const T* bias = element<T>(params.bias, i0 + i, j0);
                for (std::int64_t j = 0; j < n_k; ++j) row[j] += bias[j * params.bias.strides[3]];
            }
            for (const Array& part : params.blocked) {
                const bool* blocked = element<bool>(part, i0 + i, j0);
                for (std::int64_t j = 0; j < n_k; ++j)
                    if (blocked[j * part.strides[3]]) row[j] = -INFINITY;
            }
            for (const Array& documents : params.documents) {
                const std::int64_t *of_keys = ids(documents, j0), own = *query_ids(documents, i0 + i);
                for (std::int64_t j = 0; j < n_k; ++j)
                    if (of_keys[j] != own) row[j] = -INFINITY;
            }
            std::fill_n(row, std::clamp<std::int64_t>(first_key(i0 + i) - j0, 0, n_k), -INFINITY);
            if (params.causal)
                for (std::int64_t j = std::max<std::int64_t>(0, i0 + i + (S - T_) + 1 - j0); j < n_k; ++j)
                    row[j] = -INFINITY;
        }
    }
};

template <class T>
void multiply_rows(std::int64_t n, T* y, const T* factors) {
    simd_run([](auto v, auto f) { return v * f; }, n, y, y, factors);
}

// p ← e^(p − shift) · factor; exactly 0 where p was −∞, even in a row that another score has made NaN.
template <class T>
void exp_row(std::int64_t n, T* p, T shift, T factor = 1) {
    using Batch = xsimd::batch<T>;
    const Batch m(shift), f(factor), none(T(0)), blocked(T(-INFINITY));
    simd_run([=](auto v) { return xsimd::select(v == blocked, none, xsimd::exp(v - m) * f); }, n, p, p);
}

template <class E>
bool is_finite(std::int64_t n, const E* x) {
    return std::all_of(x, x + n, [](E value) { return std::isfinite(computed(value)); });
}

// A tile of n rows, `width` apart, as an operand of products: itself, or `factor` times it, rounded in the
// memory of `rounded`.
template <class E, class T>
Matrix<const E> as_operand(const T* tile, std::int64_t n, std::int64_t width, E* rounded, T factor = 1) {
    if constexpr (std::is_same_v<T, E>) return {tile, width, 1};
    for (std::int64_t i = 0; i < n * width; ++i) rounded[i] = E(factor * tile[i]);
    return {rounded, width, 1};
}
// The memory for so many tiles; none where they are operands themselves.
template <class E, class T>
std::unique_ptr<E[]> memory_of_operands(std::int64_t size) {
    return std::make_unique_for_overwrite<E[]>(std::is_same_v<T, E> ? 0 : static_cast<std::size_t>(size));
}

// Overwrites the gradients. A query that is not finite, or attends to what is not, adds nothing if its dy is 0.
// If `dbias` (B|1, H|1, T|1, S|1), of float64 and zeros, has storage, the gradient of the bias is added to it.
void attention_backward(const QkvArrays& gradients, const Array& dbias, const Array& dy, const Array& y,
                        const SoftmaxStats& stats, const QkvArrays& inputs, const AttentionParams& params);

}  // namespace weft::kernels::fast
