#include "kernels/attention.h"

#include <cmath>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/map.h"
#include "kernels/rows.h"

namespace weft::kernels {
namespace {

// Queries and keys of one tile of scores. Wide tiles make large products; but on the diagonal of a causal mask
// half a tile is wasted, which counts where there are few tiles.
struct Tile {
    static constexpr std::int64_t most_queries = 128;
    std::int64_t queries, keys;
    explicit Tile(std::int64_t S) : queries(S < 2048 ? 64 : most_queries), keys(4 * queries) {}
    std::int64_t size() const { return queries * keys; }
};

// One (sample, head): its matrices, and which keys its queries see.
template <class T>
struct Head {
    std::int64_t b, h, H, T_, S, d_k, d_v;
    const AttentionRules& rules;
    const Tile tile{S};

    Head(std::int64_t index, const Array& q, const Array& v, const AttentionRules& r)
        : b(index / q.shape[1]),
          h(index % q.shape[1]),
          H(q.shape[1]),
          T_(q.shape[2]),
          S(v.shape[2]),
          d_k(q.shape[3]),
          d_v(v.shape[3]),
          rules(r) {}

    template <class U>
    Matrix<U> rows(const Array& x, std::int64_t first) const {  // of x (B, H, n, d), from row `first`
        const std::int64_t own = h / (H / x.shape[1]);          // keys and values may serve several heads
        return {x.data<T>() + b * x.strides[0] + own * x.strides[1] + first * x.strides[2], x.strides[2], 1};
    }
    // The keys before `end` are all that queries [from, to) may see by causality.
    std::int64_t visible_keys(std::int64_t to) const {
        return rules.causal ? std::clamp<std::int64_t>(to + (S - T_), 0, S) : S;
    }
    // scores (n_q, n_k) = scale · q kᵀ + bias, −∞ where blocked.
    void scores(T* s, const Array& q, const Array& k, std::int64_t i0, std::int64_t n_q, std::int64_t j0,
                std::int64_t n_k) const {
        const auto keys = rows<const T>(k, j0);
        gemm<T>(n_q, n_k, d_k, static_cast<T>(rules.scale), rows<const T>(q, i0), {keys.data, 1, keys.row},
                T(0), {s, tile.keys, 1});
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = s + i * tile.keys;
            if (rules.bias.storage) {
                const Array& x = rules.bias;
                const T* from = x.data<T>() + b * x.strides[0] + h * x.strides[1] + (i0 + i) * x.strides[2] +
                                j0 * x.strides[3];
                for (std::int64_t j = 0; j < n_k; ++j) row[j] += from[j * x.strides[3]];
            }
            if (rules.blocked.storage) {
                const Array& x = rules.blocked;
                const bool* from = x.data<bool>() + b * x.strides[0] + h * x.strides[1] +
                                   (i0 + i) * x.strides[2] + j0 * x.strides[3];
                for (std::int64_t j = 0; j < n_k; ++j)
                    if (from[j * x.strides[3]]) row[j] = -INFINITY;
            }
            if (rules.causal)
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
void forward_tile_row(const Head<T>& head, const Array& y, const SoftmaxRows& kept, const Array& q,
                      const Array& k, const Array& v, std::int64_t i0, std::vector<T>& s) {
    const std::int64_t n_q = std::min(head.tile.queries, head.T_ - i0), keys = head.visible_keys(i0 + n_q),
                       width = head.tile.keys;
    const auto out = head.template rows<T>(y, i0);
    const std::int64_t row0 = (head.b * head.H + head.h) * head.T_ + i0;
    T* shift = kept.max.data<T>() + row0;
    T* factor = kept.rsum.data<T>() + row0;
    T largest[Tile::most_queries], total[Tile::most_queries];
    std::fill(largest, largest + n_q, -INFINITY);
    std::fill(total, total + n_q, T(0));
    for (std::int64_t i = 0; i < n_q; ++i)
        std::fill(out.data + i * out.row, out.data + i * out.row + head.d_v, T(0));

    for (std::int64_t j0 = 0; j0 < keys; j0 += width) {
        const std::int64_t n_k = std::min(width, keys - j0);
        head.scores(s.data(), q, k, i0, n_q, j0, n_k);
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = s.data() + i * width;
            const T m = std::max(largest[i], row_max(n_k, row));
            if (m == -INFINITY && !std::isnan(row_sum(n_k, row))) {  // nothing seen so far
                std::fill(row, row + n_k, T(0));
                continue;
            }
            if (m != largest[i]) {  // what was summed with the old maximum is brought to the new one
                const T decay = std::exp(largest[i] - m);
                total[i] *= decay;
                multiply_row(head.d_v, out.data + i * out.row, decay);
                largest[i] = m;
            }
            exp_row(n_k, row, m);
            total[i] += static_cast<T>(row_sum(n_k, row));
        }
        gemm<T>(n_q, head.d_v, n_k, T(1), {s.data(), width, 1}, head.template rows<const T>(v, j0), T(1), out);
    }
    for (std::int64_t i = 0; i < n_q; ++i) {
        const bool sees_nothing = total[i] == 0;
        shift[i] = sees_nothing ? T(0) : largest[i];
        factor[i] = sees_nothing ? T(0) : 1 / total[i];
        multiply_row(head.d_v, out.data + i * out.row, factor[i]);
    }
}

// Adds the part of queries i0 … to dk and dv, and makes their dq.
//   p = e^(s − max) · rsum, y = p v:  dv = pᵀ dy,  dp = dy vᵀ,  ds = p (dp − dy·y),  dq = scale · ds k,  dk =
//   scale · dsᵀ q
template <class T>
void backward_tile_row(const Head<T>& head, const Array& dq, const Array& dk, const Array& dv, const Array& dy,
                       const Array& y, const SoftmaxRows& kept, const Array& q, const Array& k, const Array& v,
                       std::int64_t i0, std::vector<T>& p, std::vector<T>& ds) {
    const std::int64_t n_q = std::min(head.tile.queries, head.T_ - i0), keys = head.visible_keys(i0 + n_q),
                       width = head.tile.keys;
    const auto dout = head.template rows<const T>(dy, i0), out = head.template rows<const T>(y, i0);
    const T scale = static_cast<T>(head.rules.scale);
    T delta[Tile::most_queries];
    for (std::int64_t i = 0; i < n_q; ++i)
        delta[i] = static_cast<T>(row_sum_of<T>(
            head.d_v, [](auto a, auto b) { return a * b; }, dout.data + i * dout.row, out.data + i * out.row));
    const std::int64_t row0 = (head.b * head.H + head.h) * head.T_ + i0;
    const T* shift = kept.max.data<T>() + row0;
    const T* factor = kept.rsum.data<T>() + row0;
    const auto dqr = head.template rows<T>(dq, i0);
    if (keys == 0) gemm<T>(n_q, head.d_k, 0, T(1), {}, {}, T(0), dqr);

    for (std::int64_t j0 = 0; j0 < keys; j0 += width) {
        const std::int64_t n_k = std::min(width, keys - j0);
        const auto vr = head.template rows<const T>(v, j0);
        head.scores(p.data(), q, k, i0, n_q, j0, n_k);
        gemm<T>(n_q, n_k, head.d_v, T(1), dout, {vr.data, 1, vr.row}, T(0), {ds.data(), width, 1});
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = p.data() + i * width;
            T* d = ds.data() + i * width;
            exp_row(n_k, row, shift[i], factor[i]);
            // Where p is 0 so is ds, also where v is so large that dp overflows.
            simd_run(
                n_k, d,
                [f = xsimd::batch<T>(delta[i]), none = xsimd::batch<T>(T(0))](auto w, auto g) {
                    return xsimd::select(w == none, none, w * (g - f));
                },
                static_cast<const T*>(row), static_cast<const T*>(d));
        }
        const Matrix<const T> pt{p.data(), 1, width}, dst{ds.data(), 1, width};
        gemm<T>(n_k, head.d_v, n_q, T(1), pt, dout, T(1), head.template rows<T>(dv, j0));
        gemm<T>(n_q, head.d_k, n_k, scale, {ds.data(), width, 1}, head.template rows<const T>(k, j0),
                j0 == 0 ? T(0) : T(1), dqr);
        gemm<T>(n_k, head.d_k, n_q, scale, dst, head.template rows<const T>(q, i0), T(1),
                head.template rows<T>(dk, j0));
    }
}

template <class T>
void clear(const Head<T>& head, const Array& x) {
    const auto all = head.template rows<T>(x, 0);
    for (std::int64_t i = 0; i < x.shape[2]; ++i)
        std::fill(all.data + i * all.row, all.data + i * all.row + x.shape[3], T(0));
}

// So many that waking the team for a second task pays.
std::int64_t heads_of_a_task(const Array& q, const Array& k) {
    const std::int64_t products = q.shape[2] * k.shape[2] * q.shape[3];
    return (1 << 16) / std::max<std::int64_t>(products, 1) + 1;
}

}  // namespace

void attention(const Array& y, const SoftmaxRows& kept, const Array& q, const Array& k, const Array& v,
               const AttentionRules& rules) {
    visit_floating(q.dtype, [&](auto zero) {
        using T = decltype(zero);
        parallel_blocks(q.shape[0] * q.shape[1], heads_of_a_task(q, k),
                        [&](std::int64_t begin, std::int64_t end) {
                            std::vector<T> s(static_cast<std::size_t>(Tile(v.shape[2]).size()));
                            for (std::int64_t index = begin; index < end; ++index) {
                                const Head<T> head(index, q, v, rules);
                                for (std::int64_t i0 = 0; i0 < head.T_; i0 += head.tile.queries)
                                    forward_tile_row(head, y, kept, q, k, v, i0, s);
                            }
                        });
    });
}

void attention_backward(const Array& dq, const Array& dk, const Array& dv, const Array& dy, const Array& y,
                        const SoftmaxRows& kept, const Array& q, const Array& k, const Array& v,
                        const AttentionRules& rules) {
    visit_floating(q.dtype, [&](auto zero) {
        using T = decltype(zero);
        // A group is a head of keys with all the query heads that it serves: they add to the same dk and dv.
        const std::int64_t groups = k.shape[0] * k.shape[1], served = groups == 0 ? 0 : q.shape[1] / k.shape[1];
        const auto group = [&](std::int64_t first, std::vector<T>& p, std::vector<T>& ds) {
            for (std::int64_t index = first; index < first + served; ++index) {
                const Head<T> head(index, q, v, rules);
                if (index == first) clear(head, dk), clear(head, dv);
                for (std::int64_t i0 = 0; i0 < head.T_; i0 += head.tile.queries)
                    backward_tile_row(head, dq, dk, dv, dy, y, kept, q, k, v, i0, p, ds);
            }
        };
        const std::int64_t grain = heads_of_a_task(q, k) / std::max<std::int64_t>(served, 1);
        parallel_blocks(groups, grain, [&](std::int64_t begin, std::int64_t end) {
            std::vector<T> p(static_cast<std::size_t>(Tile(v.shape[2]).size())), ds(p.size());
            for (std::int64_t g = begin; g < end; ++g) group(g * served, p, ds);
        });
    });
}

}  // namespace weft::kernels
