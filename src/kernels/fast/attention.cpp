#include <cmath>
#include <memory>
#include <vector>

#include "kernels/fast/attention_head.h"
#include "kernels/fast/dropout.h"
#include "kernels/fast/masked_gemm.h"

namespace weft::kernels::fast {
namespace {

// Computes y of the queries i0 …, and their weights; s and `rounded` are scratch memory for a tile of scores.
// Returns false if the first row of y is not finite: v may hold NaN or ±∞, even at masked keys, so it must run
// again with handle_nonfinite.
template <class T, class E>
bool forward_tile_row(const Head<T, E>& head, const Array& y, const SoftmaxStats& stats, const Array& weights,
                      std::int64_t i0, T* s, E* rounded, bool handle_nonfinite) {
    const std::int64_t n_q = std::min(head.tile.queries, head.T_ - i0), keys = head.visible_keys(i0 + n_q),
                       step = head.tile.keys;
    const auto out = head.template rows<T>(y, i0);
    const std::int64_t row0 = head.row(i0);
    T* max = stats.max.data<T>() + row0;
    T* inverse_sum = stats.inverse_sum.data<T>() + row0;
    T* const wanted = weights.storage ? weights.data<T>() + row0 * head.S : nullptr;  // n_q rows of S weights
    std::vector<T> shifts;  // for each of those tiles, what was subtracted in its rows
    T largest[tile_max_queries], total[tile_max_queries], factors[tile_max_keys];
    std::fill(largest, largest + n_q, -INFINITY);
    std::fill(total, total + n_q, T(0));
    for (std::int64_t i = 0; i < n_q; ++i)
        std::fill(out.data + i * out.row, out.data + i * out.row + head.d_v, T(0));

    for (std::int64_t j0 = 0; j0 < keys; j0 += step) {
        const std::int64_t n_k = std::min(step, keys - j0), width = head.width(n_k);
        if (head.is_apart(i0, n_q, j0, n_k)) {
            for (std::int64_t i = 0; i < n_q && wanted; ++i)
                std::fill(wanted + i * head.S + j0, wanted + i * head.S + j0 + n_k, T(0));
            if (wanted) shifts.insert(shifts.end(), largest, largest + n_q);
            continue;
        }
        head.scores(s, i0, n_q, j0, n_k);
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = s + i * width;
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
            if (head.params.dropout.p > 0) {
                dropout_factors(head.params.dropout, (row0 + i) * head.S + j0, n_k, factors);
                multiply_rows(n_k, row, factors);
            }
        }
        const Matrix<const E> p = as_operand(s, n_q, width, rounded), values = head.rows(head.in.v, j0);
        if (handle_nonfinite)
            masked_gemm<T, E>(n_q, head.d_v, n_k, T(1), p, values, T(1), out,
                              [&](auto i, auto j) { return head.is_visible(i0 + i, j0 + j); });
        else
            gemm<T, E>(n_q, head.d_v, n_k, T(1), p, values, T(1), out);
        if (!wanted) continue;
        for (std::int64_t i = 0; i < n_q; ++i)
            std::copy(s + i * width, s + i * width + n_k, wanted + i * head.S + j0);
        shifts.insert(shifts.end(), largest, largest + n_q);
    }
    // Every query of the tile is multiplied with every value, a masked one with a weight of 0; 0 · NaN and 0 ·
    // ∞ are NaN, so the first query tells for all.
    const bool first_row_finite = is_finite(head.d_v, out.data);
    for (std::int64_t i = 0; i < n_q; ++i) {
        const bool fully_masked = total[i] == 0;
        max[i] = fully_masked ? T(0) : largest[i];
        inverse_sum[i] = fully_masked ? T(0) : 1 / total[i];
        multiply_row(head.d_v, out.data + i * out.row, inverse_sum[i]);
        if (!wanted) continue;
        T* row = wanted + i * head.S;
        for (std::int64_t j0 = 0, tile = 0; j0 < keys; j0 += step, ++tile) {
            const T factor = fully_masked ? T(0) : std::exp(shifts[tile * n_q + i] - max[i]) * inverse_sum[i];
            for (std::int64_t j = j0; j < std::min(j0 + step, keys); ++j)
                row[j] = std::isfinite(factor) || head.is_visible(i0 + i, j) ? row[j] * factor : T(0);
        }
        std::fill(row + keys, row + head.S, T(0));
    }
    return first_row_finite;
}

void attention(const Array& y, const SoftmaxStats& stats, const Array& weights, const QkvArrays& inputs,
               const AttentionParams& params) {
    const std::int64_t T_ = inputs.q.shape[2], S = inputs.v.shape[2],
                       heads = inputs.q.shape[0] * inputs.q.shape[1];
    if (heads == 0 || T_ == 0) return;
    const Tile tile(T_, S);
    const std::int64_t rows = ceil_div(T_, tile.queries);
    visit_product(inputs.q.dtype, [&]<class T, class E>(T, E) {
        const std::int64_t grain = items_of_a_task(tile.queries * S * inputs.q.shape[3], attention_grain);
        parallel_blocks(heads * rows, grain, [&](std::int64_t begin, std::int64_t end) {
            const auto s = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(tile.size()));
            const auto rounded = memory_of_operands<E, T>(tile.size());
            for (std::int64_t row = begin; row < end; ++row) {
                const Head<T, E> head(row / rows, inputs, params);
                const std::int64_t i0 = row % rows * tile.queries;
                if (!forward_tile_row(head, y, stats, weights, i0, s.get(), rounded.get(), false))
                    forward_tile_row(head, y, stats, weights, i0, s.get(), rounded.get(), true);
            }
        });
    });
}

}  // namespace

extern const Attention attention_table{attention, attention_backward};

}  // namespace weft::kernels::fast
