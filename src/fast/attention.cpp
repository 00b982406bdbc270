#include <cmath>
#include <memory>
#include <vector>

#include "core/common.h"
#include "core/run.h"
#include "fast/attention_head.h"
#include "fast/gemm.h"
#include "fast/simd.h"

namespace weft::kernels::fast {
namespace {

// Computes y of the queries i0 …; s and `rounded` are scratch memory for a tile of scores.
// Returns false if the first row of y is not finite: v may hold NaN or ±∞, even at masked keys, so it must run
// again with handle_nonfinite.
template <class T, class E>
bool forward_tile_row(const Head<T, E>& head, const Array& y, const SoftmaxStats& stats, std::int64_t i0, T* s,
                      E* rounded, bool handle_nonfinite) {
    const std::int64_t n_q = std::min(head.tile.queries, head.T_ - i0), keys = head.visible_keys(i0 + n_q),
                       step = head.tile.keys;
    const auto out = head.template rows<T>(y, i0);
    const std::int64_t row0 = head.row(i0);
    T* max = stats.max.data<T>() + row0;
    T* inverse_sum = stats.inverse_sum.data<T>() + row0;
    T largest[tile_max_queries], total[tile_max_queries], factors[tile_max_keys];
    std::fill(largest, largest + n_q, -INFINITY);
    std::fill(total, total + n_q, T(0));
    for (std::int64_t i = 0; i < n_q; ++i)
        std::fill(out.data + i * out.row, out.data + i * out.row + head.d_v, T(0));

    for (std::int64_t j0 = 0; j0 < keys; j0 += step) {
        const std::int64_t n_k = std::min(step, keys - j0), width = head.width(n_k);
        if (head.is_apart(i0, n_q, j0, n_k)) continue;
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

// y (B, H, T, d_v), whose last stride is 1, and stats. A fully masked row has y = 0. Masked keys and values
// change no bit, even if they are NaN or infinite.
void attention(const Array& y, const SoftmaxStats& stats, const QkvArrays& inputs,
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
                if (!forward_tile_row(head, y, stats, i0, s.get(), rounded.get(), false))
                    forward_tile_row(head, y, stats, i0, s.get(), rounded.get(), true);
            }
        });
    });
}

// x as the kernel reads it: rows of consecutive elements that do not overlap (those of an expanded tensor do).
Array row_contiguous(const Tensor& x) {
    const Array a = dense_operand(x.array());
    const bool dense = a.strides[3] == 1 || a.shape[3] == 1,
               disjoint = a.strides[2] >= a.shape[3] || a.shape[2] == 1;
    return dense && disjoint ? a : contiguous(a);
}

// A tensor (B, H, n, d) for x's B, H and n, stored as (B, n, H, d), so merging its heads copies nothing.
Tensor make_token_major(const Tensor& x, std::int64_t d) {
    return Tensor(transposed_view(make_array({x.size(0), x.size(2), x.size(1), d}, x.dtype()), 1, 2));
}

using Qkv = std::array<Tensor, 3>;

QkvArrays arrays_of(const Qkv& qkv) {
    return {row_contiguous(qkv[0]), row_contiguous(qkv[1]), row_contiguous(qkv[2])};
}

// What masks, adds to the scores and drops.
AttentionParams params_of(const AttentionSetup& setup, const Tensor& bias, const QkvArrays& in) {
    const std::int64_t B = in.q.shape[0], H = in.q.shape[1], T = in.q.shape[2], S = in.k.shape[2];
    const Mask& mask = setup.options.mask;
    AttentionParams params{*setup.options.scale,
                           mask.is_causal(),
                           mask.width().value_or(AttentionParams().window),
                           {},
                           {},
                           bias.defined() ? broadcast_view(bias.array(), {B, H, T, S}) : Array(),
                           setup.dropout};
    for (const Tensor& ids : setup.documents) params.documents.push_back(broadcast_view(ids.array(), {B, S}));
    for (const Tensor& part : setup.blocked)
        params.blocked.push_back(broadcast_view(part.array(), {B, H, T, S}));
    return params;
}

// It cannot scale by 0, because BLAS does not read what it would multiply by 0, and so misses NaN.
std::optional<FusedResult> attention_of(const Qkv& qkv, const Tensor& bias, const AttentionSetup& setup) {
    if (setup.options.softcap || static_cast<float>(*setup.options.scale) == 0) return {};
    const Tensor& q = qkv[0];
    const Shape per_query{q.size(0), q.size(1), q.size(2)};
    const SoftmaxStats stats{make_array(per_query, q.dtype()), make_array(per_query, q.dtype())};
    const Tensor y = make_token_major(q, qkv[2].size(3));
    const QkvArrays arrays = arrays_of(qkv);
    attention(y.array(), stats, arrays, params_of(setup, bias, arrays));
    return FusedResult{y, {y, Tensor(stats.max), Tensor(stats.inverse_sum)}};
}

// Fills the gradients of q, k and v; returns those of the inputs: these heads, the bias, and none of the mask.
Grads gradients_of(const Qkv& to, Grads heads, const Qkv& qkv, const Tensor& bias, const Saved& saved,
                   const Tensor& dy, const AttentionSetup& setup) {
    const std::size_t at_bias = heads.size(), own = at_bias + 1 + setup.options.mask.parts().size();
    const Tensor dbias = saved.needs_input_grad(at_bias) ? zeros(bias.shape(), float64) : Tensor();
    const QkvArrays arrays = arrays_of(qkv);
    attention_backward({to[0].array(), to[1].array(), to[2].array()}, dbias.defined() ? dbias.array() : Array(),
                       row_contiguous(dy), saved[own].array(), {saved[own + 1].array(), saved[own + 2].array()},
                       arrays, params_of(setup, bias, arrays));
    heads.push_back(dbias.defined() ? dbias.to(dy.dtype()) : dbias);
    heads.resize(own);
    return heads;
}

std::optional<FusedResult> attention_at_once(const Inputs& in, const AttentionSetup& setup) {
    return attention_of({in[0], in[1], in[2]}, in[3], setup);
}

Grads attention_rule(const Saved& saved, const Tensor& dy, const AttentionSetup& setup) {
    const Qkv qkv{saved[0], saved[1], saved[2]};
    Qkv to;
    for (int i = 0; i < 3; ++i) to[i] = make_token_major(qkv[i], qkv[i].size(3));
    return gradients_of(to, {to[0], to[1], to[2]}, qkv, saved[3], saved, dy, setup);
}

std::optional<FusedResult> packed_attention_at_once(const Inputs& in, const PackedSetup& setup) {
    return attention_of(Heads::split_qkv(in[0], setup.sizes), in[1], setup);
}

// The gradient of the projection is one tensor, whose columns are those of q, k and v.
Grads packed_attention_rule(const Saved& saved, const Tensor& dy, const PackedSetup& setup) {
    const Tensor dx = empty(saved[0].shape(), saved[0].dtype());
    return gradients_of(Heads::split_qkv(dx, setup.sizes), {dx}, Heads::split_qkv(saved[0], setup.sizes),
                        saved[1], saved, dy, setup);
}

}  // namespace
}  // namespace weft::kernels::fast

namespace weft {
constinit const Kernel<AttentionSetup> attention_kernel{kernels::fast::attention_at_once,
                                                        kernels::fast::attention_rule};
constinit const Kernel<PackedSetup> packed_attention_kernel{kernels::fast::packed_attention_at_once,
                                                            kernels::fast::packed_attention_rule};
}  // namespace weft
