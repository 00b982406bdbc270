// Attention, query by query (Vaswani et al., "Attention is all you need", 2017, §3.2.1). The letters are those
// of kernels/interface.h.
#include <cmath>

#include "kernels/reference/element.h"
#include "kernels/threads/parallel.h"

namespace weft::kernels::reference {
namespace {

// Whether query i of head (b, h) may attend to key j.
bool is_visible(const AttentionParams& params, const Shape& scores, std::int64_t b, std::int64_t h,
                std::int64_t i, std::int64_t j) {
    if (params.causal && j > i + (scores[3] - scores[2])) return false;
    for (const Array& blocked : params.blocked)
        if (at<bool>(blocked, b, h, i, j)) return false;
    return true;
}

// scale · q_i · k_j + bias_ij, and −∞ where the key is masked.
template <class T>
double score(const QkvArrays& in, const AttentionParams& params, const Shape& scores, std::int64_t b,
             std::int64_t h, std::int64_t i, std::int64_t j) {
    if (!is_visible(params, scores, b, h, i, j)) return -INFINITY;
    const std::int64_t g = h / (in.q.shape[1] / in.k.shape[1]);  // the head of keys that serves h
    double s = 0;
    for (std::int64_t c = 0; c < in.q.shape[3]; ++c)
        s += static_cast<double>(at<T>(in.q, b, h, i, c)) * static_cast<double>(at<T>(in.k, b, g, j, c));
    count_multiply_adds(in.q.shape[3]);
    s *= params.scale;
    return params.bias.storage ? s + static_cast<double>(at<T>(params.bias, b, h, i, j)) : s;
}

// What dropout multiplies the weight of (b, h, i, j) with.
double factor(const AttentionParams& params, const Shape& scores, std::int64_t b, std::int64_t h,
              std::int64_t i, std::int64_t j) {
    return params.dropout.p == 0
               ? 1
               : dropout_factor(params.dropout, ((b * scores[1] + h) * scores[2] + i) * scores[3] + j);
}

// f(b, h, g, i) for every query, with the head of keys g that serves h.
template <class F>
void for_queries(const QkvArrays& in, const F& f) {
    const std::int64_t H = in.q.shape[1], G = in.k.shape[1];
    for (std::int64_t b = 0; b < in.q.shape[0]; ++b)
        for (std::int64_t h = 0; h < H; ++h)
            for (std::int64_t i = 0; i < in.q.shape[2]; ++i) f(b, h, h / (H / G), i);
}

void attention(const Array& y, const SoftmaxStats& stats, const Array& weights, const QkvArrays& in,
               const AttentionParams& params) {
    const std::int64_t S = in.v.shape[2], d_v = in.v.shape[3];
    const Shape scores{in.q.shape[0], in.q.shape[1], in.q.shape[2], S};
    visit_floating(y.dtype, [&]<class T>(T) {
        std::vector<double> p(static_cast<std::size_t>(S));
        for_queries(in, [&](std::int64_t b, std::int64_t h, std::int64_t g, std::int64_t i) {
            // scores, and the largest; NaN stays
            double max = -INFINITY, sum = 0;
            for (std::int64_t j = 0; j < S; ++j) {
                const double s = p[static_cast<std::size_t>(j)] = score<T>(in, params, scores, b, h, i, j);
                if (!(s <= max)) max = s;
            }
            // softmax: e^(s − max) / Σ, and 0 for a masked key
            for (std::int64_t j = 0; j < S; ++j) {
                double& w = p[static_cast<std::size_t>(j)];
                w = w == -INFINITY ? 0 : std::exp(w - max);
                sum += w;
            }
            const double inverse_sum = sum == 0 ? 0 : 1 / sum;
            at<T>(stats.max, b, h, i) = static_cast<T>(sum == 0 ? 0 : max);
            at<T>(stats.inverse_sum, b, h, i) = static_cast<T>(inverse_sum);
            // dropout
            for (std::int64_t j = 0; j < S; ++j) {
                double& w = p[static_cast<std::size_t>(j)];
                w *= inverse_sum * factor(params, scores, b, h, i, j);
                if (!is_visible(params, scores, b, h, i, j)) w = 0;
                if (weights.storage) at<T>(weights, b, h, i, j) = static_cast<T>(w);
            }
            // y = Σ_j p_j v_j over the keys that are not masked
            for (std::int64_t c = 0; c < d_v; ++c) {
                double total = 0;
                for (std::int64_t j = 0; j < S; ++j)
                    if (is_visible(params, scores, b, h, i, j))
                        total += p[static_cast<std::size_t>(j)] * static_cast<double>(at<T>(in.v, b, g, j, c));
                at<T>(y, b, h, i, c) = static_cast<T>(total);
            }
        });
    });
}

//   p = e^(s − max) · inverse_sum and the factors f of dropout: y = (p ∘ f) v,  dv = (p ∘ f)ᵀ dy,
//   dp = f ∘ (dy vᵀ),  ds = p ∘ (dp − dy·y),  dbias = ds,  dq = scale · ds k,  dk = scale · dsᵀ q
void attention_backward(const QkvArrays& gradients, const Array& dbias, const Array& dy, const Array& y,
                        const SoftmaxStats& stats, const QkvArrays& in, const AttentionParams& params) {
    const std::int64_t S = in.v.shape[2], d_k = in.q.shape[3], d_v = in.v.shape[3];
    const Shape scores{in.q.shape[0], in.q.shape[1], in.q.shape[2], S};
    const Array of_bias = dbias.storage ? broadcast_view(dbias, scores) : Array();
    for (const Array* x : {&gradients.q, &gradients.k, &gradients.v}) active().fill(*x, 0);
    visit_floating(y.dtype, [&]<class T>(T) {
        const auto add = [](T& to, double x) { to = static_cast<T>(static_cast<double>(to) + x); };
        for_queries(in, [&](std::int64_t b, std::int64_t h, std::int64_t g, std::int64_t i) {
            double delta = 0;  // dy · y
            bool is_used = false;
            for (std::int64_t c = 0; c < d_v; ++c) {
                const double d = static_cast<double>(at<T>(dy, b, h, i, c));
                delta += d * static_cast<double>(at<T>(y, b, h, i, c));
                is_used = is_used || d != 0;
            }
            for (std::int64_t j = 0; j < S && is_used; ++j) {
                const double s = score<T>(in, params, scores, b, h, i, j);
                if (s == -INFINITY) continue;
                const double p = std::exp(s - static_cast<double>(at<T>(stats.max, b, h, i))) *
                                 static_cast<double>(at<T>(stats.inverse_sum, b, h, i)),
                             f = factor(params, scores, b, h, i, j);
                double dp = 0;
                for (std::int64_t c = 0; c < d_v; ++c) {
                    const double d = static_cast<double>(at<T>(dy, b, h, i, c));
                    dp += f * d * static_cast<double>(at<T>(in.v, b, g, j, c));
                    add(at<T>(gradients.v, b, g, j, c), p * f * d);
                }
                const double ds = p == 0 ? 0 : p * (dp - delta);
                for (std::int64_t c = 0; c < d_k; ++c) {
                    add(at<T>(gradients.q, b, h, i, c),
                        params.scale * ds * static_cast<double>(at<T>(in.k, b, g, j, c)));
                    add(at<T>(gradients.k, b, g, j, c),
                        params.scale * ds * static_cast<double>(at<T>(in.q, b, h, i, c)));
                }
                if (dbias.storage) at<double>(of_bias, b, h, i, j) += ds;
            }
        });
    });
}

}  // namespace

extern const Attention attention_table{attention, attention_backward};

}  // namespace weft::kernels::reference
