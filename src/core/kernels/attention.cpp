#include "core/kernels/attention.h"

#include <cmath>
#include <vector>

#include "core/kernels/attention_head.h"
#include "core/kernels/masked_gemm.h"

namespace weft::kernels {
namespace {

// Computes y of the queries i0 …; s is scratch memory for a tile of scores. Returns false if the first row of y
// is not finite: v may hold NaN or ±∞, even at masked keys, so it must run again with handle_nonfinite.
template <class T>
bool forward_tile_row(const Head<T>& head, const Array& y, const SoftmaxStats& stats, std::int64_t i0,
                      std::vector<T>& s, bool handle_nonfinite) {
    const std::int64_t n_q = std::min(head.tile.queries, head.T_ - i0), keys = head.visible_keys(i0 + n_q),
                       width = head.tile.keys;
    const auto out = head.rows(y, i0);
    const std::int64_t row0 = (head.b * head.H + head.h) * head.T_ + i0;
    T* max = stats.max.data<T>() + row0;
    T* inverse_sum = stats.inverse_sum.data<T>() + row0;
    T largest[tile_max_queries], total[tile_max_queries];
    std::fill(largest, largest + n_q, -INFINITY);
    std::fill(total, total + n_q, T(0));
    for (std::int64_t i = 0; i < n_q; ++i)
        std::fill(out.data + i * out.row, out.data + i * out.row + head.d_v, T(0));

    for (std::int64_t j0 = 0; j0 < keys; j0 += width) {
        const std::int64_t n_k = std::min(width, keys - j0);
        head.scores(s.data(), i0, n_q, j0, n_k);
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = s.data() + i * width;
            const T m = std::max(largest[i], row_max(n_k, row));
            if (m == -INFINITY && !std::isnan(row_sum(n_k, row))) {  // no visible key so far
                std::fill(row, row + n_k, T(0));
                continue;
            }
            if (m != largest[i]) {  // rescale what was summed with the old maximum
                const T decay = std::exp(largest[i] - m);
                total[i] *= decay;
                multiply_row(head.d_v, out.data + i * out.row, decay);
                largest[i] = m;
            }
            exp_row(n_k, row, m);
            total[i] += static_cast<T>(row_sum(n_k, row));
        }
        const Matrix<T> p{s.data(), width, 1}, values = head.rows(head.in.v, j0);
        if (handle_nonfinite)
            masked_gemm<T>(n_q, head.d_v, n_k, T(1), p, values, T(1), out,
                           [&](auto i, auto j) { return head.is_visible(i0 + i, j0 + j); });
        else
            gemm<T>(n_q, head.d_v, n_k, T(1), p, values, T(1), out);
    }
    // Every query of the tile is multiplied with every value, a masked one with a weight of 0; 0 · NaN and 0 ·
    // ∞ are NaN, so the first query tells for all.
    const bool first_row_finite = is_finite(head.d_v, out.data);
    for (std::int64_t i = 0; i < n_q; ++i) {
        const bool fully_masked = total[i] == 0;
        max[i] = fully_masked ? T(0) : largest[i];
        inverse_sum[i] = fully_masked ? T(0) : 1 / total[i];
        multiply_row(head.d_v, out.data + i * out.row, inverse_sum[i]);
    }
    return first_row_finite;
}

// Adds the contribution of the queries i0 … to dk and dv, and computes their dq.
//   p = e^(s − max) · inverse_sum, y = p v:  dv = pᵀ dy,  dp = dy vᵀ,  ds = p (dp − dy·y),  dq = scale · ds k,
//   dk = scale · dsᵀ q
// With handle_nonfinite, what is not finite reaches only the pairs that are not masked, and a query whose dy is
// 0 passes none of it on.
template <class T>
void backward_tile_row(const Head<T>& head, const QkvArrays& gradients, const Array& dy, const Array& y,
                       const SoftmaxStats& stats, std::int64_t i0, std::vector<T>& p, std::vector<T>& ds,
                       bool handle_nonfinite) {
    const std::int64_t n_q = std::min(head.tile.queries, head.T_ - i0), keys = head.visible_keys(i0 + n_q),
                       width = head.tile.keys;
    const auto dout = head.rows(dy, i0), out = head.rows(y, i0);
    const T scale = static_cast<T>(head.params.scale);
    const auto queries = head.rows(head.in.q, i0);
    T delta[tile_max_queries];
    bool unused[tile_max_queries] = {};  // queries that are not finite and whose dy is 0
    for (std::int64_t i = 0; i < n_q && handle_nonfinite; ++i) {
        const T* row = dout.data + i * dout.row;
        unused[i] = std::all_of(row, row + head.d_v, [](T d) { return d == 0; }) &&
                    !(is_finite(head.d_v, out.data + i * out.row) &&
                      is_finite(head.d_k, queries.data + i * queries.row));
    }
    for (std::int64_t i = 0; i < n_q; ++i)
        delta[i] = static_cast<T>(row_sum_of<T>(
            head.d_v, [](auto a, auto b) { return a * b; }, dout.data + i * dout.row, out.data + i * out.row));
    const std::int64_t row0 = (head.b * head.H + head.h) * head.T_ + i0;
    const T* max = stats.max.data<T>() + row0;
    const T* inverse_sum = stats.inverse_sum.data<T>() + row0;
    const auto dqr = head.rows(gradients.q, i0);
    if (keys == 0) gemm<T>(n_q, head.d_k, 0, T(1), {}, {}, T(0), dqr);

    for (std::int64_t j0 = 0; j0 < keys; j0 += width) {
        const std::int64_t n_k = std::min(width, keys - j0);
        const Matrix<T> weights{p.data(), width, 1}, dscores{ds.data(), width, 1};
        head.scores(p.data(), i0, n_q, j0, n_k);
        gemm<T>(n_q, n_k, head.d_v, T(1), dout, head.rows(head.in.v, j0).transposed(), T(0), dscores);
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = p.data() + i * width;
            T* d = ds.data() + i * width;
            exp_row(n_k, row, max[i], inverse_sum[i]);
            // Where p is 0, so is ds, even if v is so large that dp overflows.
            simd_run(
                n_k, d,
                [f = xsimd::batch<T>(delta[i]), none = xsimd::batch<T>(T(0))](auto w, auto g) {
                    return xsimd::select(w == none, none, w * (g - f));
                },
                row, d);
            if (unused[i]) std::fill(row, row + n_k, T(0)), std::fill(d, d + n_k, T(0));
        }
        const auto pt = weights.transposed(), dst = dscores.transposed(), keys_here = head.rows(head.in.k, j0),
                   dvr = head.rows(gradients.v, j0), dkr = head.rows(gradients.k, j0);
        const T before = j0 == 0 ? T(0) : T(1);
        if (handle_nonfinite) {
            const auto is_visible = [&](auto i, auto j) {
                return !unused[i] && head.is_visible(i0 + i, j0 + j);
            };
            const auto is_visible_transposed = [&](auto j, auto i) { return is_visible(i, j); };
            masked_gemm<T>(n_k, head.d_v, n_q, T(1), pt, dout, T(1), dvr, is_visible_transposed);
            masked_gemm<T>(n_q, head.d_k, n_k, scale, dscores, keys_here, before, dqr, is_visible);
            masked_gemm<T>(n_k, head.d_k, n_q, scale, dst, queries, T(1), dkr, is_visible_transposed);
        } else {
            gemm<T>(n_k, head.d_v, n_q, T(1), pt, dout, T(1), dvr);
            gemm<T>(n_q, head.d_k, n_k, scale, dscores, keys_here, before, dqr);
            gemm<T>(n_k, head.d_k, n_q, scale, dst, queries, T(1), dkr);
        }
    }
}

template <class T>
void clear(const Head<T>& head, const Array& x) {
    const auto all = head.rows(x, 0);
    for (std::int64_t i = 0; i < x.shape[2]; ++i)
        std::fill(all.data + i * all.row, all.data + i * all.row + x.shape[3], T(0));
}

// Whether the gradients of a head of keys and of the queries that it serves met finite numbers only. Every
// query of a tile is multiplied with every key, so the first key and the first query of each row of tiles tell
// for all.
template <class T>
bool all_finite(std::int64_t first, std::int64_t served, const QkvArrays& gradients,
                const AttentionParams& params) {
    for (std::int64_t index = first; index < first + served; ++index) {
        const Head<T> head(index, gradients, params);
        if (head.S > 0 && !(is_finite(head.d_v, head.rows(gradients.v, 0).data) &&
                            is_finite(head.d_k, head.rows(gradients.k, 0).data)))
            return false;
        for (std::int64_t i0 = 0; i0 < head.T_; i0 += head.tile.queries)
            if (!is_finite(head.d_k, head.rows(gradients.q, i0).data)) return false;
    }
    return true;
}

// Enough that waking another thread pays.
std::int64_t heads_of_a_task(const QkvArrays& in) {
    const std::int64_t products = in.q.shape[2] * in.k.shape[2] * in.q.shape[3];
    return attention_grain / std::max<std::int64_t>(products, 1) + 1;
}

}  // namespace

void attention(const Array& y, const SoftmaxStats& stats, const QkvArrays& inputs,
               const AttentionParams& params) {
    const std::int64_t heads = inputs.q.shape[0] * inputs.q.shape[1];
    visit_floating(y.dtype, [&]<class T>(T) {
        parallel_blocks(heads, heads_of_a_task(inputs), [&](std::int64_t begin, std::int64_t end) {
            std::vector<T> s(static_cast<std::size_t>(Tile(inputs.q.shape[2], inputs.v.shape[2]).size()));
            for (std::int64_t index = begin; index < end; ++index) {
                const Head<T> head(index, inputs, params);
                for (std::int64_t i0 = 0; i0 < head.T_; i0 += head.tile.queries)
                    if (!forward_tile_row(head, y, stats, i0, s, false))
                        forward_tile_row(head, y, stats, i0, s, true);
            }
        });
    });
}

void attention_backward(const QkvArrays& gradients, const Array& dy, const Array& y, const SoftmaxStats& stats,
                        const QkvArrays& inputs, const AttentionParams& params) {
    const Array &q = inputs.q, &k = inputs.k;
    visit_floating(y.dtype, [&]<class T>(T) {
        // A group is a head of keys with the heads of queries that it serves, which add to the same dk and dv.
        const std::int64_t groups = k.shape[0] * k.shape[1], served = groups == 0 ? 0 : q.shape[1] / k.shape[1];
        const auto group = [&](std::int64_t first, std::vector<T>& p, std::vector<T>& ds,
                               bool handle_nonfinite) {
            for (std::int64_t index = first; index < first + served; ++index) {
                const Head<T> head(index, inputs, params);
                if (index == first) clear(head, gradients.k), clear(head, gradients.v);
                for (std::int64_t i0 = 0; i0 < head.T_; i0 += head.tile.queries)
                    backward_tile_row(head, gradients, dy, y, stats, i0, p, ds, handle_nonfinite);
            }
        };
        const std::int64_t grain = heads_of_a_task(inputs) / std::max<std::int64_t>(served, 1);
        parallel_blocks(groups, grain, [&](std::int64_t begin, std::int64_t end) {
            std::vector<T> p(static_cast<std::size_t>(Tile(q.shape[2], k.shape[2]).size())), ds(p.size());
            for (std::int64_t g = begin; g < end; ++g) {
                group(g * served, p, ds, false);
                if (!all_finite<T>(g * served, served, gradients, params)) group(g * served, p, ds, true);
            }
        });
    });
}

}  // namespace weft::kernels
