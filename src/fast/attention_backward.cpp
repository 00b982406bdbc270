// The gradients of attention.
#include <memory>
#include <vector>

#include "fast/attention_head.h"
#include "fast/gemm.h"
#include "fast/simd.h"

namespace weft::kernels::fast {
namespace {

// The queries and keys of one task of backward.
struct Part {
    std::int64_t first_query, queries_end, first_key, keys_end;
};

// What backward reads and adds to.
struct Backward {
    const QkvArrays& gradients;
    const Array dbias;  // (B, H, T, S), with strides of 0 where the bias was broadcast; or without storage
    const Array &dy, &y;
    const SoftmaxStats& stats;
};

// Adds the n_k elements of ds of query i, from key j on, to the gradient of the bias.
template <class T, class E>
void add_dbias(const Head<T, E>& head, const Array& dbias, std::int64_t i, std::int64_t j, std::int64_t n_k,
               const T* ds) {
    double* to = head.template element<double>(dbias, i, j);
    if (dbias.strides[3] == 0)
        *to += row_sum(n_k, ds);
    else
        for (std::int64_t k = 0; k < n_k; ++k) to[k] += static_cast<double>(ds[k]);
}

// Memory for two tiles, and where the operands are of another type, for the same rounded.
template <class T, class E>
struct Scratch {
    std::unique_ptr<T[]> tiles;
    std::unique_ptr<E[]> rounded;
    explicit Scratch(std::int64_t size)
        : tiles(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(2 * size))),
          rounded(memory_of_operands<E, T>(2 * size)) {}
};

// Σ a_i · b_i.
template <class T, class E>
double dot(std::int64_t n, const E* a, const T* b) {
    if constexpr (std::is_same_v<T, E>) {
        return row_sum_of<T>([](auto p, auto q) { return p * q; }, n, a, b);
    } else {
        const std::vector<T> wide(a, a + n);
        return dot(n, wide.data(), b);
    }
}

// Adds what the queries i0 … i0 + n_q − 1 and the keys of a part contribute.
//   p = e^(s − max) · inverse_sum and the factors f of dropout: y = (p ∘ f) v,  dv = (p ∘ f)ᵀ dy,
//   dp = f ∘ (dy vᵀ),  ds = p ∘ (dp − dy·y),  dbias = ds,  dq = scale · ds k,  dk = scale · dsᵀ q
// With handle_nonfinite, what is not finite reaches only the pairs that are not masked, and a query whose dy is
// 0 passes none of it on.
template <class T, class E>
void backward_tile_row(const Head<T, E>& head, const Backward& to, std::int64_t i0, std::int64_t n_q,
                       const Part& part, const Scratch<T, E>& scratch, bool handle_nonfinite) {
    const std::int64_t keys = std::min(head.visible_keys(i0 + n_q), part.keys_end), step = head.tile.keys;
    if (keys <= part.first_key) return;
    const Matrix<const E> dout = head.rows(to.dy, i0), queries = head.rows(head.in.q, i0);
    const auto out = head.template rows<T>(to.y, i0), dqr = head.template rows<T>(to.gradients.q, i0);
    // The scale multiplies the products with ds, or ds before it is rounded.
    const T scale = static_cast<T>(head.params.scale), of_product = std::is_same_v<T, E> ? scale : T(1);
    T *const p = scratch.tiles.get(), *const ds = p + head.tile.size();
    T delta[tile_max_queries], factors[tile_max_keys];
    std::fill(factors, factors + tile_max_keys, T(1));
    bool unused[tile_max_queries] = {};  // queries that are not finite and whose dy is 0
    for (std::int64_t i = 0; i < n_q && handle_nonfinite; ++i) {
        const E* row = dout.data + i * dout.row;
        unused[i] = std::all_of(row, row + head.d_v, [](E d) { return computed(d) == 0; }) &&
                    !(is_finite(head.d_v, out.data + i * out.row) &&
                      is_finite(head.d_k, queries.data + i * queries.row));
    }
    for (std::int64_t i = 0; i < n_q; ++i)
        delta[i] = static_cast<T>(dot(head.d_v, dout.data + i * dout.row, out.data + i * out.row));
    const std::int64_t row0 = head.row(i0);
    const T* max = to.stats.max.data<T>() + row0;
    const T* inverse_sum = to.stats.inverse_sum.data<T>() + row0;

    for (std::int64_t j0 = part.first_key; j0 < keys; j0 += step) {
        const std::int64_t n_k = std::min(step, keys - j0), width = head.width(n_k);
        if (head.is_apart(i0, n_q, j0, n_k)) continue;
        head.scores(p, i0, n_q, j0, n_k);
        gemm<T, E>(n_q, n_k, head.d_v, T(1), dout, head.rows(head.in.v, j0).transposed(), T(0), {ds, width, 1});
        for (std::int64_t i = 0; i < n_q; ++i) {
            T* row = p + i * width;
            T* d = ds + i * width;
            exp_row(n_k, row, max[i], inverse_sum[i]);
            if (head.params.dropout.p > 0)
                dropout_factors(head.params.dropout, (row0 + i) * head.S + j0, n_k, factors);
            // Where p is 0, so is ds, even if v is so large that dp overflows.
            const xsimd::batch<T> m(delta[i]), none(T(0));
            const auto dscore = [=](auto w, auto g, auto f) {
                return xsimd::select(w == none, none, w * (g * f - m));
            };
            simd_run(dscore, n_k, d, row, d, factors);
            if (head.params.dropout.p > 0) multiply_rows(n_k, row, factors);
            if (unused[i]) std::fill(row, row + n_k, T(0)), std::fill(d, d + n_k, T(0));
            if (to.dbias.storage) add_dbias(head, to.dbias, i0 + i, j0, n_k, d);
        }
        const Matrix<const E> weights = as_operand(p, n_q, width, scratch.rounded.get()),
                              dscores =
                                  as_operand(ds, n_q, width, scratch.rounded.get() + head.tile.size(), scale),
                              pt = weights.transposed(), dst = dscores.transposed(),
                              keys_here = head.rows(head.in.k, j0);
        const auto dvr = head.template rows<T>(to.gradients.v, j0),
                   dkr = head.template rows<T>(to.gradients.k, j0);
        if (handle_nonfinite) {
            const auto is_visible = [&](auto i, auto j) {
                return !unused[i] && head.is_visible(i0 + i, j0 + j);
            };
            const auto is_visible_transposed = [&](auto j, auto i) { return is_visible(i, j); };
            masked_gemm<T, E>(n_k, head.d_v, n_q, T(1), pt, dout, T(1), dvr, is_visible_transposed);
            masked_gemm<T, E>(n_q, head.d_k, n_k, of_product, dscores, keys_here, T(1), dqr, is_visible);
            masked_gemm<T, E>(n_k, head.d_k, n_q, of_product, dst, queries, T(1), dkr, is_visible_transposed);
        } else {
            gemm<T, E>(n_k, head.d_v, n_q, T(1), pt, dout, T(1), dvr);
            gemm<T, E>(n_q, head.d_k, n_k, of_product, dscores, keys_here, T(1), dqr);
            gemm<T, E>(n_k, head.d_k, n_q, of_product, dst, queries, T(1), dkr);
        }
    }
}

template <class T, class E>
void backward_part(const Head<T, E>& head, const Backward& to, const Part& part, const Scratch<T, E>& scratch,
                   bool handle_nonfinite) {
    for (std::int64_t i0 = part.first_query; i0 < part.queries_end; i0 += head.tile.queries)
        backward_tile_row(head, to, i0, std::min(head.tile.queries, part.queries_end - i0), part, scratch,
                          handle_nonfinite);
}

// Sets what a head adds to to 0.
template <class T, class E>
void clear(const Head<T, E>& head, const Backward& to) {
    for (const Array* x : {&to.gradients.q, &to.gradients.k, &to.gradients.v}) {
        const auto all = head.template rows<T>(*x, 0);
        for (std::int64_t i = 0; i < x->shape[2]; ++i)
            std::fill(all.data + i * all.row, all.data + i * all.row + x->shape[3], T(0));
    }
    if (!to.dbias.storage) return;
    for (std::int64_t i = 0; i < head.T_; ++i)
        for (std::int64_t j = 0; j < head.S; ++j) *head.template element<double>(to.dbias, i, j) = 0;
}

// Whether the gradients of a head met finite numbers only. Every query of a tile is multiplied with every key,
// so the first key of each column of tiles and the first query of each row tell for all, whichever are skipped.
template <class T, class E>
bool all_finite(const Head<T, E>& head, const QkvArrays& gradients) {
    for (std::int64_t j0 = 0; j0 < head.S; j0 += head.tile.keys)
        if (!is_finite(head.d_v, head.template rows<T>(gradients.v, j0).data) ||
            !is_finite(head.d_k, head.template rows<T>(gradients.k, j0).data))
            return false;
    for (std::int64_t i0 = 0; i0 < head.T_; i0 += head.tile.queries)
        if (!is_finite(head.d_k, head.template rows<T>(gradients.q, i0).data)) return false;
    return true;
}

// The heads of queries that add to the same gradients, and so belong to one task at a time: those that share a
// head of keys, and those that share an element of dbias.
struct Units {
    std::int64_t H, samples, heads;  // samples and heads of one unit
    std::int64_t count;
    Units(const QkvArrays& in, const Array& dbias)
        : H(in.q.shape[1]),
          samples(dbias.storage && dbias.shape[0] == 1 ? in.q.shape[0] : 1),
          heads(dbias.storage && dbias.shape[1] == 1 ? H : H / std::max<std::int64_t>(in.k.shape[1], 1)),
          count(in.q.shape[0] * H / std::max<std::int64_t>(samples * heads, 1)) {}
    // f(index of a head of queries) for all of a unit.
    template <class F>
    void for_each(std::int64_t unit, const F& f) const {
        const std::int64_t across = H / heads, b0 = unit / across, h0 = unit % across * heads;
        for (std::int64_t b = b0; b < b0 + samples; ++b)
            for (std::int64_t h = h0; h < h0 + heads; ++h) f(b * H + h);
    }
};

// Where there are few units, the queries and the keys of each are cut into `count` parts. In round r, task k of
// a unit computes the keys of part k with the queries of part (k + r) mod count: no two tasks of a round write
// the same gradient, and each gradient is added up in the order of the rounds.
struct Parts {
    std::int64_t T_, S;
    std::int64_t keys, queries, count;  // keys and queries of a part, and the number of parts
    Parts(std::int64_t units, const Tile& tile, std::int64_t queries_in_all, std::int64_t keys_in_all,
          const Array& dbias)
        : T_(queries_in_all), S(keys_in_all) {
        const bool one_sum = dbias.storage && dbias.shape[2] == 1 && dbias.shape[3] == 1;  // dbias of all pairs
        const std::int64_t wanted = one_sum ? 1 : ceil_div(attention_tasks, units);
        keys = ceil_div(ceil_div(S, std::min(wanted, ceil_div(T_, tile.queries))), tile.keys) * tile.keys;
        const std::int64_t key_parts = ceil_div(S, keys);
        queries = ceil_div(ceil_div(T_, key_parts), tile.queries) * tile.queries;
        count = std::max(key_parts, ceil_div(T_, queries));
    }
    Part of(std::int64_t k, std::int64_t round) const {
        const std::int64_t i = (k + round) % count * queries, j = k * keys;
        return {i, std::min(i + queries, T_), j, std::min(j + keys, S)};
    }
};

}  // namespace

void attention_backward(const QkvArrays& gradients, const Array& dbias, const Array& dy, const Array& y,
                        const SoftmaxStats& stats, const QkvArrays& inputs, const AttentionParams& params) {
    const Shape& q = inputs.q.shape;
    const std::int64_t T_ = q[2], S = inputs.k.shape[2];
    const Backward to{gradients, dbias.storage ? broadcast_view(dbias, {q[0], q[1], T_, S}) : Array(), dy, y,
                      stats};
    const Units units(inputs, dbias);
    if (units.count * T_ * S == 0) {
        for (const Array* x : {&gradients.q, &gradients.k, &gradients.v}) fill(*x, 0);
        return;
    }
    const Tile tile(T_, S);
    const Parts parts(units.count, tile, T_, S, dbias);
    visit_product(inputs.q.dtype, [&]<class T, class E>(T, E) {
        const auto heads = [&](std::int64_t unit, const auto& f) {
            units.for_each(unit, [&](std::int64_t index) { f(Head<T, E>(index, inputs, params)); });
        };
        const auto clear_unit = [&](std::int64_t unit) {
            heads(unit, [&](const Head<T, E>& head) { clear(head, to); });
        };
        const auto add = [&](std::int64_t unit, std::int64_t k, std::int64_t round, const Scratch<T, E>& memory,
                             bool handle_nonfinite) {
            heads(unit, [&](const Head<T, E>& head) {
                backward_part(head, to, parts.of(k, round), memory, handle_nonfinite);
            });
        };
        const auto repeat_unless_finite = [&](std::int64_t unit, const Scratch<T, E>& memory) {
            bool finite = true;
            heads(unit, [&](const Head<T, E>& head) { finite = finite && all_finite(head, gradients); });
            if (finite) return;
            clear_unit(unit);
            for (std::int64_t round = 0; round < parts.count; ++round)
                for (std::int64_t k = 0; k < parts.count; ++k) add(unit, k, round, memory, true);
        };
        const std::int64_t pairs = units.samples * units.heads * q[3];  // multiply-adds for each query and key
        const std::int64_t grain = items_of_a_task(pairs * parts.queries * parts.keys, attention_grain);
        if (parts.count == 1) {
            parallel_blocks(units.count, grain, [&](std::int64_t unit, std::int64_t end) {
                const Scratch<T, E> memory(tile.size());
                for (; unit < end; ++unit) {
                    clear_unit(unit);
                    add(unit, 0, 0, memory, false);
                    repeat_unless_finite(unit, memory);
                }
            });
            return;
        }
        parallel_blocks(units.count, 1, [&](std::int64_t unit, std::int64_t) { clear_unit(unit); });
        for (std::int64_t round = 0; round < parts.count; ++round)
            parallel_blocks(units.count * parts.count, grain, [&](std::int64_t task, std::int64_t end) {
                const Scratch<T, E> memory(tile.size());
                for (; task < end; ++task) add(task / parts.count, task % parts.count, round, memory, false);
            });
        parallel_blocks(units.count, 1, [&](std::int64_t unit, std::int64_t) {
            repeat_unless_finite(unit, Scratch<T, E>(tile.size()));
        });
    });
}

}  // namespace weft::kernels::fast
