// B samples, H heads, T queries, S keys, d_k and d_v widths of keys and values.
#include "core/kernels/attention.h"

#include <cmath>

#include "core/kernels/elementwise.h"
#include "core/ops/seen.h"
#include "weft/core/trace.h"

namespace weft {
namespace {

struct Prepared {
    Tensor q, k, v, bias;  // q (B, H, T, d_k), k and v (B, G, S, ·) with G dividing H; bias (B|1, H|1, T|1,
                           // S|1) or undefined
    std::int64_t B, H, T, S;
    double scale;
    Mask mask;
};

// (…, H, n, d) as (B, H, n, d): what lies before the heads is one row of samples.
Tensor with_rank_4(const Tensor& x) {
    if (x.rank() > 4) return x.reshape({-1, x.size(-3), x.size(-2), x.size(-1)});
    Tensor y = x;
    while (y.rank() < 4) y = y.unsqueeze(0);
    return y;
}

Prepared prepare(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
    const char* const who = "scaled_dot_product_attention";
    check_floating(who, q);
    check_same_dtype(who, q, k);
    check_same_dtype(who, q, v);
    const std::string shapes =
        std::string(who) + ": q " + q.shape().str() + ", k " + k.shape().str() + ", v " + v.shape().str();
    if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank())
        throw ShapeError(shapes + ": all three must have one rank: (T, d), (H, T, d), (B, H, T, d) or more");
    for (int axis = 0; axis + 3 < q.rank(); ++axis)
        if (q.size(axis) != k.size(axis) || q.size(axis) != v.size(axis))
            throw ShapeError(shapes + ": axis " + std::to_string(axis) + " differs; samples must be equal");
    const std::int64_t H = q.rank() > 2 ? q.size(-3) : 1, G = q.rank() > 2 ? k.size(-3) : 1;
    if ((q.rank() > 2 && v.size(-3) != G) || (H != G && (H == 0 || G == 0 || H % G != 0)))
        throw ShapeError(
            shapes + ": keys and values must have as many heads as the queries, or a number that divides it");
    if (q.size(-1) != k.size(-1))
        throw ShapeError(shapes + ": queries are " + std::to_string(q.size(-1)) + " wide, keys " +
                         std::to_string(k.size(-1)) + "; d_k must be one");
    if (k.size(-2) != v.size(-2))
        throw ShapeError(shapes + ": " + std::to_string(k.size(-2)) + " keys for " +
                         std::to_string(v.size(-2)) + " values; there must be one value for each key");
    Prepared p{with_rank_4(q), with_rank_4(k), with_rank_4(v), {}, 0, 0, 0, 0, 0, options.mask};
    p.B = p.q.size(0), p.H = p.q.size(1), p.T = p.q.size(2), p.S = p.k.size(2);
    p.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, q.size(-1)))));
    if (!std::isfinite(p.scale))
        throw ValueError(std::string(who) + ": a scale of " + std::to_string(p.scale) + "; it must be finite");
    if (!(options.dropout >= 0 && options.dropout < 1))
        throw ValueError(std::string(who) + ": dropout = " + std::to_string(options.dropout) +
                         " is no probability of dropping; use 0 ≤ p < 1");
    if (options.dropout > 0 && options.rng == nullptr)
        throw ValueError(std::string(who) + ": dropout needs random numbers; set options.rng");
    if (options.bias.defined()) {
        check_same_dtype(who, q, options.bias);
        const Shape scores{p.B, p.H, p.T, p.S};
        if (broadcast_shapes(options.bias.shape(), scores, who) != scores)
            throw ShapeError(std::string(who) + ": a bias of shape " + options.bias.shape().str() +
                             " does not broadcast to the scores, " + scores.str());
        if (!all(isfinite(options.bias) || options.bias == -INFINITY))
            throw ValueError(std::string(who) +
                             ": the bias holds NaN or +inf; use finite values, or −inf to block");
        p.bias = with_rank_4(options.bias);
        // What −∞ blocks is blocked as by a mask: a score that overflowed plus −∞ would not be −∞.
        if (const Tensor blocked = p.bias == -INFINITY; any(blocked))
            p.mask = p.mask | Mask::blocked(blocked.expand({p.bias.size(0), p.bias.size(1), p.T, p.S}));
    }
    return p;
}

// (B, G, S, d) → (B, H, S, d): each of G heads serves H / G query heads that follow each other.
Tensor for_each_query_head(const Tensor& x, std::int64_t H) {
    const std::int64_t B = x.size(0), G = x.size(1), S = x.size(2), d = x.size(3);
    if (G == H) return x;
    return x.unsqueeze(2).expand({B, G, H / G, S, d}).reshape({B, H, S, d});
}

// The definition: every step a tensor of its own, with its name.
AttentionResult definition(const Prepared& p, double dropout_p, Rng* rng) {
    const Tensor q = traced("q", p.q);                            // (B, H, T, d_k)
    const Tensor k = traced("k", for_each_query_head(p.k, p.H));  // (B, H, S, d_k)
    const Tensor v = traced("v", for_each_query_head(p.v, p.H));  // (B, H, S, d_v)
    Tensor mask;
    if (!p.mask.blocks_nothing()) mask = p.mask.materialize(p.B, p.H, p.T, p.S);
    Tensor scores =
        traced("scores", matmul_of_seen(q, k.transpose(-2, -1), mask, Pairs::in_y) * p.scale);  // (B, H, T, S)
    if (p.bias.defined()) scores = traced("biased scores", scores + p.bias);
    traced("mask", mask);
    if (mask.defined()) scores = traced("masked scores", masked_fill(scores, mask, -INFINITY));
    Tensor weights = traced("weights", softmax(scores, -1));  // rows that see nothing are 0
    // Blocked weights are 0 already; now so are their gradients, also where v is so large that they overflow.
    if (mask.defined()) weights = masked_fill(weights, mask, 0);
    if (dropout_p > 0) weights = traced("kept weights", dropout(weights, dropout_p, *rng));
    return {traced("heads", matmul_of_seen(weights, v, mask, Pairs::in_a)), weights};  // (B, H, T, d_v)
}

// As the kernel reads it: rows of neighbouring elements that do not lie on each other, as expanded ones do.
Array in_rows(const Tensor& x) {
    const Array& a = x.array();
    const bool dense = a.strides[3] == 1 || a.shape[3] == 1,
               apart = a.strides[2] >= a.shape[3] || a.shape[2] == 1;
    return dense && apart ? a : kernels::contiguous(a);
}

// (B, H, n, d) laid out as (B, n, H, d), so that merging the heads copies nothing.
Array by_token(std::int64_t B, std::int64_t H, std::int64_t n, std::int64_t d, DType dtype) {
    return transposed_view(make_array({B, n, H, d}, dtype), 1, 2);
}

kernels::AttentionRules rules_of(const Prepared& p) {
    const Tensor rest = p.mask.materialize_rest(p.B, p.H, p.T, p.S);
    const Shape scores{p.B, p.H, p.T, p.S};
    return {p.scale, p.mask.is_causal(), rest.defined() ? broadcast_view(rest.array(), scores) : Array(),
            p.bias.defined() ? broadcast_view(p.bias.array(), scores) : Array()};
}

kernels::SoftmaxRows rows_of(const Prepared& p) {
    return {make_array({p.B, p.H, p.T}, p.q.dtype()), make_array({p.B, p.H, p.T}, p.q.dtype())};
}

// What the gradient rule reads, and every tensor of the mask after it: one that was changed in place would give
// the gradient of another mask, so that backward must refuse.
std::vector<Tensor> with_parts(std::vector<Tensor> keep, const Mask& mask) {
    keep.insert(keep.end(), mask.parts().begin(), mask.parts().end());
    return keep;
}

// Whether the kernel can be used: it has no dropout, gives the bias no gradient, and cannot scale by 0, because
// BLAS does not read what it would multiply by 0, and so misses NaN.
bool is_fused(const Prepared& p, const AttentionOptions& options) {
    const bool differentiates_bias = p.bias.defined() && p.bias.requires_grad() && grad_enabled();
    return !composed_mode() && options.dropout == 0 && static_cast<float>(p.scale) != 0 && !differentiates_bias;
}

Tensor fused(const Prepared& p) {
    const kernels::AttentionRules rules = rules_of(p);
    const kernels::SoftmaxRows kept = rows_of(p);
    Array y = by_token(p.B, p.H, p.T, p.v.size(3), p.q.dtype());
    kernels::attention(y, kept, in_rows(p.q), in_rows(p.k), in_rows(p.v), rules);

    const Tensor output(std::move(y));
    return record(
        "scaled_dot_product_attention", output, {p.q, p.k, p.v},
        with_parts({p.q, p.k, p.v, output, p.bias, Tensor(kept.max), Tensor(kept.rsum)}, p.mask),
        [rules, B = p.B, H = p.H, T = p.T, S = p.S, mask = p.mask](const Saved& saved, const Tensor& dy) {
            const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &y = saved[3], &bias = saved[4];
            if (grad_enabled())
                return grads_of_definition(
                    [&] {
                        return definition({q, k, v, bias, B, H, T, S, rules.scale, mask}, 0, nullptr).output;
                    },
                    {q, k, v}, dy);
            Array dq = by_token(B, H, T, q.size(3), q.dtype()),
                  dk = by_token(B, k.size(1), S, k.size(3), q.dtype()),
                  dv = by_token(B, v.size(1), S, v.size(3), q.dtype());
            kernels::attention_backward(dq, dk, dv, in_rows(dy), y.array(),
                                        {saved[5].array(), saved[6].array()}, in_rows(q), in_rows(k),
                                        in_rows(v), rules);
            return Grads{Tensor(std::move(dq)), Tensor(std::move(dk)), Tensor(std::move(dv))};
        });
}

// q, k and v of a packed projection (B, T, 3C), as views (B, H, T, d_k): 0 is q, 1 is k, 2 is v.
Array unpacked(const Array& qkv, std::int64_t heads, std::int64_t which) {
    const std::int64_t C = qkv.shape[2] / 3, d_k = C / heads;
    return view_of(qkv, {qkv.shape[0], heads, qkv.shape[1], d_k}, {qkv.strides[0], d_k, qkv.strides[1], 1},
                   qkv.offset + which * C);
}

// The definition of multi_head_attention. qkv: (B, T, 3C)
Tensor multi_head_definition(const Tensor& qkv, std::int64_t heads, const AttentionOptions& options) {
    const std::int64_t B = qkv.size(0), T = qkv.size(1), C = qkv.size(2) / 3;
    const Tensor split =
        qkv.reshape({B, T, 3, heads, C / heads}).permute({2, 0, 3, 1, 4});                 // (3, B, H, T, d_k)
    const Tensor y = scaled_dot_product_attention(split[0], split[1], split[2], options);  // (B, H, T, d_k)
    return traced("merged", y.permute({0, 2, 1, 3}).reshape({B, T, C}));
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
    const Prepared p = prepare(q, k, v, options);
    const Tensor y = is_fused(p, options) ? fused(p) : definition(p, options.dropout, options.rng).output;
    Shape shape = q.shape();
    shape[q.rank() - 1] = v.size(-1);
    return y.reshape(shape);
}

AttentionResult scaled_dot_product_attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                          const AttentionOptions& options) {
    const Prepared p = prepare(q, k, v, options);
    const AttentionResult result = definition(p, options.dropout, options.rng);
    Shape y = q.shape(), w = q.shape();
    y[q.rank() - 1] = v.size(-1);
    w[q.rank() - 1] = k.size(-2);
    return {result.output.reshape(y), result.weights.reshape(w)};
}

Tensor multi_head_attention(const Tensor& qkv, std::int64_t heads, const AttentionOptions& options) {
    const char* const who = "multi_head_attention";
    check_floating(who, qkv);
    if ((qkv.rank() != 2 && qkv.rank() != 3) || heads < 1 || qkv.size(-1) % (3 * heads) != 0)
        throw ShapeError(std::string(who) + ": qkv " + qkv.shape().str() + " and " + std::to_string(heads) +
                         " heads: qkv must be (B, T, 3C) or (T, 3C), and the heads must divide C");
    if (qkv.rank() == 2) return multi_head_attention(qkv.unsqueeze(0), heads, options).squeeze(0);

    const Tensor packed(kernels::contiguous(qkv.array()));  // outside the graph: only its values are looked at
    auto part = [&](std::int64_t which) { return Tensor(unpacked(packed.array(), heads, which)); };
    const Prepared p = prepare(part(0), part(1), part(2), options);
    if (!is_fused(p, options)) return multi_head_definition(qkv, heads, options);

    const kernels::AttentionRules rules = rules_of(p);
    const kernels::SoftmaxRows kept = rows_of(p);
    const Tensor y = empty({p.B, p.T, qkv.size(2) / 3}, qkv.dtype());
    auto by_head = [heads](const Array& x) {  // (B, T, C) → (B, H, T, d_k)
        const std::int64_t d_k = x.shape[2] / heads;
        return view_of(x, {x.shape[0], heads, x.shape[1], d_k}, {x.strides[0], d_k, x.strides[1], 1}, x.offset);
    };
    kernels::attention(by_head(y.array()), kept, p.q.array(), p.k.array(), p.v.array(), rules);
    return record(
        who, y, {qkv}, with_parts({qkv, y, p.bias, Tensor(kept.max), Tensor(kept.rsum)}, p.mask),
        [rules, heads, by_head, mask = p.mask](const Saved& saved, const Tensor& dy) {
            const Tensor &qkv = saved[0], &y = saved[1], &bias = saved[2];
            if (grad_enabled())
                return grads_of_definition(
                    [&] {
                        const Composed on;
                        return multi_head_definition(qkv, heads, {mask, bias, rules.scale});
                    },
                    {qkv}, dy);
            const Array packed = kernels::contiguous(qkv.array()), d = make_array(qkv.shape(), qkv.dtype());
            auto of = [&](const Array& x, std::int64_t which) { return unpacked(x, heads, which); };
            kernels::attention_backward(of(d, 0), of(d, 1), of(d, 2), by_head(kernels::contiguous(dy.array())),
                                        by_head(y.array()), {saved[3].array(), saved[4].array()}, of(packed, 0),
                                        of(packed, 1), of(packed, 2), rules);
            return Grads{Tensor(d)};
        });
}

}  // namespace weft
