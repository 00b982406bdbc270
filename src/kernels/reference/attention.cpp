// Attention, query by query (Vaswani et al., "Attention is all you need", 2017, §3.2.1). The letters are those
// of kernels/interface.h.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/reference/element.h"
#include "kernels/threads/parallel.h"

namespace weft::kernels::reference {
namespace {

// Query i of head h of sample b, whose keys are those of head g.
struct Query {
    const QkvArrays& in;
    const AttentionParams& params;
    std::int64_t b, h, g, i;
    const std::int64_t T_ = in.q.shape[2], S = in.k.shape[2];

    // Whether it may attend to key j.
    bool sees(std::int64_t j) const {
        const std::int64_t own = i + (S - T_);  // its place among the keys
        if ((params.causal && j > own) || j <= own - params.window) return false;
        for (const Array& ids : params.documents)
            if (at<std::int64_t>(ids, b, own) != at<std::int64_t>(ids, b, j)) return false;
        return std::none_of(params.blocked.begin(), params.blocked.end(),
                            [&](const Array& blocked) { return at<bool>(blocked, b, h, i, j); });
    }
    // scale · q_i · k_j + bias_ij.
    template <class T>
    double score(std::int64_t j) const {
        const std::int64_t d_k = in.q.shape[3];
        count_multiply_adds(d_k);
        double s = 0;
        for (std::int64_t c = 0; c < d_k; ++c) s += value<T>(in.q, b, h, i, c) * value<T>(in.k, b, g, j, c);
        return params.scale * s + (params.bias.storage ? value<T>(params.bias, b, h, i, j) : 0);
    }
    // What dropout multiplies the weight of key j with.
    double factor(std::int64_t j) const {
        if (params.dropout.p == 0) return 1;
        const std::int64_t element = ((b * in.q.shape[1] + h) * T_ + i) * S + j;
        return dropout_factor(params.dropout, static_cast<std::uint64_t>(element));
    }
};

// f(query) for all of them.
template <class F>
void for_queries(const QkvArrays& in, const AttentionParams& params, const F& f) {
    const std::int64_t H = in.q.shape[1], G = in.k.shape[1];
    for (std::int64_t b = 0; b < in.q.shape[0]; ++b)
        for (std::int64_t h = 0; h < H; ++h)
            for (std::int64_t i = 0; i < in.q.shape[2]; ++i) f(Query{in, params, b, h, h / (H / G), i});
}

void attention(const Array& y, const SoftmaxStats& stats, const Array& weights, const QkvArrays& inputs,
               const AttentionParams& params) {
    const QkvArrays in{widened(inputs.q), widened(inputs.k), widened(inputs.v)};
    const std::int64_t S = in.v.shape[2], d_v = in.v.shape[3];
    visit_floating(y.dtype, [&]<class T>(T) {
        for_queries(in, params, [&](const Query& q) {
            const auto [b, h, g, i] = std::array{q.b, q.h, q.g, q.i};
            // The keys that it sees, their scores, and the largest; NaN stays.
            std::vector<std::int64_t> keys;
            std::vector<double> p;
            double max = -INFINITY, sum = 0;
            for (std::int64_t j = 0; j < S; ++j) {
                if (!q.sees(j)) continue;
                keys.push_back(j);
                p.push_back(q.score<T>(j));
                if (std::isnan(p.back()) || p.back() > max) max = p.back();
            }
            // Softmax: e^(s − max) / Σ; nothing but −∞ has weights of 0.
            for (double& w : p) sum += w = max == -INFINITY ? 0 : std::exp(w - max);
            const double inverse_sum = sum == 0 ? 0 : 1 / sum;
            at<T>(stats.max, b, h, i) = static_cast<T>(sum == 0 ? 0 : max);
            at<T>(stats.inverse_sum, b, h, i) = static_cast<T>(inverse_sum);
            // The weights after dropout, and y = Σ_j p_j v_j.
            std::vector<double> total(static_cast<std::size_t>(d_v));
            for (std::int64_t j = 0; j < S && weights.storage; ++j) at<T>(weights, b, h, i, j) = 0;
            for (std::size_t k = 0; k < keys.size(); ++k) {
                const std::int64_t j = keys[k];
                const double w = p[k] * inverse_sum * q.factor(j);
                if (weights.storage) at<T>(weights, b, h, i, j) = static_cast<T>(w);
                for (std::int64_t c = 0; c < d_v; ++c)
                    total[static_cast<std::size_t>(c)] += w * value<T>(in.v, b, g, j, c);
            }
            for (std::int64_t c = 0; c < d_v; ++c)
                at<T>(y, b, h, i, c) = static_cast<T>(total[static_cast<std::size_t>(c)]);
        });
    });
}

//   p = e^(s − max) · inverse_sum and the factors f of dropout: y = (p ∘ f) v,  dv = (p ∘ f)ᵀ dy,
//   dp = f ∘ (dy vᵀ),  ds = p ∘ (dp − dy·y),  dbias = ds,  dq = scale · ds k,  dk = scale · dsᵀ q
void attention_backward(const QkvArrays& gradients, const Array& dbias, const Array& dout, const Array& y,
                        const SoftmaxStats& stats, const QkvArrays& inputs, const AttentionParams& params) {
    const QkvArrays in{widened(inputs.q), widened(inputs.k), widened(inputs.v)};
    const Array dy = widened(dout);
    const std::int64_t S = in.v.shape[2], d_k = in.q.shape[3], d_v = in.v.shape[3];
    const Array of_bias =
        dbias.storage ? broadcast_view(dbias, {in.q.shape[0], in.q.shape[1], in.q.shape[2], S}) : Array();
    for (const Array* x : {&gradients.q, &gradients.k, &gradients.v}) active().fill(*x, 0);
    visit_floating(y.dtype, [&]<class T>(T) {
        const auto add = [](T& to, double x) { to = static_cast<T>(static_cast<double>(to) + x); };
        for_queries(in, params, [&](const Query& q) {
            const auto [b, h, g, i] = std::array{q.b, q.h, q.g, q.i};
            double delta = 0;  // dy · y
            bool is_used = false;
            for (std::int64_t c = 0; c < d_v; ++c) {
                delta += value<T>(dy, b, h, i, c) * value<T>(y, b, h, i, c);
                is_used = is_used || at<T>(dy, b, h, i, c) != 0;
            }
            for (std::int64_t j = 0; j < S && is_used; ++j) {
                if (!q.sees(j)) continue;
                const double s = q.score<T>(j) - value<T>(stats.max, b, h, i), f = q.factor(j),
                             p = std::exp(s) * value<T>(stats.inverse_sum, b, h, i);
                double dp = 0;
                for (std::int64_t c = 0; c < d_v; ++c) {
                    const double d = f * value<T>(dy, b, h, i, c);
                    dp += d * value<T>(in.v, b, g, j, c);
                    add(at<T>(gradients.v, b, g, j, c), p * d);
                }
                const double ds = p == 0 ? 0 : p * (dp - delta);
                for (std::int64_t c = 0; c < d_k; ++c) {
                    add(at<T>(gradients.q, b, h, i, c), params.scale * ds * value<T>(in.k, b, g, j, c));
                    add(at<T>(gradients.k, b, g, j, c), params.scale * ds * value<T>(in.q, b, h, i, c));
                }
                if (dbias.storage) at<double>(of_bias, b, h, i, j) += ds;
            }
        });
    });
}

}  // namespace

extern const Attention attention_table{attention, attention_backward};

}  // namespace weft::kernels::reference
