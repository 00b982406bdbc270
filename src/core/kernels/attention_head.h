// One head of attention, tile by tile: what its forward and its backward share.
// B samples, H heads, T queries, S keys, d_k and d_v widths.
#pragma once

#include <cmath>

#include "core/kernels/attention.h"
#include "core/kernels/gemm.h"
#include "core/kernels/parallel.h"
#include "core/kernels/rows.h"

namespace weft::kernels {

// Queries and keys of one tile of scores. Wide tiles make large products; but on the diagonal of a causal mask
// half a tile is wasted, which counts where there are few tiles.
struct Tile {
    std::int64_t queries, keys;
    explicit Tile(std::int64_t S)
        : queries(S < tile_many_keys ? tile_queries : tile_max_queries), keys(tile_keys * queries) {}
    std::int64_t size() const { return queries * keys; }
};

// One (sample, head): its matrices, and which keys its queries see.
template <class T>
struct Head {
    std::int64_t b, h, H, T_, S, d_k, d_v;
    const AttentionParams& params;
    const Tile tile{S};

    Head(std::int64_t index, const Array& q, const Array& v, const AttentionParams& r)
        : b(index / q.shape[1]),
          h(index % q.shape[1]),
          H(q.shape[1]),
          T_(q.shape[2]),
          S(v.shape[2]),
          d_k(q.shape[3]),
          d_v(v.shape[3]),
          params(r) {}

    template <class U>
    Matrix<U> rows(const Array& x, std::int64_t first) const {  // of x (B, H, n, d), from row `first`
        const std::int64_t own = h / (H / x.shape[1]);          // keys and values may serve several heads
        return {x.data<T>() + b * x.strides[0] + own * x.strides[1] + first * x.strides[2], x.strides[2], 1};
    }
    // The keys before `end` are all that queries [from, to) may see by causality.
    std::int64_t visible_keys(std::int64_t to) const {
        return params.causal ? std::clamp<std::int64_t>(to + (S - T_), 0, S) : S;
    }
    bool is_visible(std::int64_t i, std::int64_t j) const {
        const Array& x = params.blocked;
        return !(params.causal && j > i + (S - T_)) &&
               !(x.storage &&
                 x.data<bool>()[b * x.strides[0] + h * x.strides[1] + i * x.strides[2] + j * x.strides[3]]);
    }
    // scores (n_q, n_k) = scale · q kᵀ + bias, −∞ where blocked.
    void scores(T* s, const Array& q, const Array& k, std::int64_t i0, std::int64_t n_q, std::int64_t j0,
                std::int64_t n_k) const {
        const auto keys = rows<const T>(k, j0);
        gemm<T>(n_q, n_k, d_k, static_cast<T>(params.scale), rows<const T>(q, i0), {keys.data, 1, keys.row},
                T(0), {s, tile.keys, 1});
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = s + i * tile.keys;
            if (params.bias.storage) {
                const Array& x = params.bias;
                const T* from = x.data<T>() + b * x.strides[0] + h * x.strides[1] + (i0 + i) * x.strides[2] +
                                j0 * x.strides[3];
                for (std::int64_t j = 0; j < n_k; ++j) row[j] += from[j * x.strides[3]];
            }
            if (params.blocked.storage) {
                const Array& x = params.blocked;
                const bool* from = x.data<bool>() + b * x.strides[0] + h * x.strides[1] +
                                   (i0 + i) * x.strides[2] + j0 * x.strides[3];
                for (std::int64_t j = 0; j < n_k; ++j)
                    if (from[j * x.strides[3]]) row[j] = -INFINITY;
            }
            if (params.causal)
                for (std::int64_t j = std::max<std::int64_t>(0, i0 + i + (S - T_) + 1 - j0); j < n_k; ++j)
                    row[j] = -INFINITY;
        }
    }
};

template <class T>
void multiply_row(std::int64_t n, T* y, T factor) {
    simd_run(
        n, y, [f = xsimd::batch<T>(factor)](auto v) { return v * f; }, static_cast<const T*>(y));
}

// p = e^(s − shift) · factor; exactly 0 where s is −∞, also in a row that another score has made NaN.
template <class T>
void exp_row(std::int64_t n, T* p, T shift, T factor = 1) {
    using Batch = xsimd::batch<T>;
    simd_run(
        n, p,
        [m = Batch(shift), f = Batch(factor), none = Batch(T(0)), blocked = Batch(T(-INFINITY))](auto v) {
            return xsimd::select(v == blocked, none, xsimd::exp(v - m) * f);
        },
        static_cast<const T*>(p));
}

template <class T>
bool is_finite(std::int64_t n, const T* x) {
    return std::all_of(x, x + n, [](T value) { return std::isfinite(value); });
}

}  // namespace weft::kernels
