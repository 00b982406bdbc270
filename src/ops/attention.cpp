// B samples, H heads of queries, G of keys and values, T queries, S keys, d_k and d_v widths.
#include "weft/ops/attention.h"

#include <cmath>
#include <optional>

#include "kernels/interface.h"
#include "ops/masked_matmul.h"

namespace weft {

namespace {

using Qkv = std::array<Tensor, 3>;  // q (B, H, T, d_k), k (B, G, S, d_k), v (B, G, S, d_v)

Shape shape_of_scores(const Qkv& qkv) {  // (B, H, T, S)
    return {qkv[0].size(0), qkv[0].size(1), qkv[0].size(2), qkv[1].size(2)};
}

// (…, H, n, d) as (B, H, n, d): the axes before the heads are one axis of samples.
Tensor with_rank_4(const Tensor& x) {
    if (x.rank() > 4) {
        std::int64_t samples = 1;
        for (int axis = 0; axis < x.rank() - 3; ++axis) samples *= x.size(axis);
        return x.reshape({samples, x.size(-3), x.size(-2), x.size(-1)});
    }
    Tensor y = x;
    while (y.rank() < 4) y = y.unsqueeze(0);
    return y;
}

Qkv values_of(const Heads& heads) {
    const Op op("q, k and v");
    const NoGrad off;
    return heads.qkv();
}

// The first n tensors as heads: q, k and v, or one packed projection of the sizes in `packed`.
Heads as_heads(const std::vector<Tensor>& tensors, std::size_t n, PackedHeads packed) {
    if (n == 3) return Qkv{tensors[0], tensors[1], tensors[2]};
    packed.qkv = tensors[0];
    return packed;
}

void check_heads(const char* caller, const Tensor& q, const Tensor& k, const Tensor& v) {
    const Op op(caller, Op::of_others);
    check_floating(q);
    check_same_dtype(q, k);
    check_same_dtype(q, v);
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(caller, ": q ", q.shape(), ", k ", k.shape(), ", v ", v.shape(), ": ", why);
    };
    if (q.rank() < 2 || k.rank() != q.rank() || v.rank() != q.rank())
        refuse("all three must have the same rank: (T, d), (H, T, d), (B, H, T, d) or more");
    for (int axis = 0; axis + 3 < q.rank(); ++axis)
        if (q.size(axis) != k.size(axis) || q.size(axis) != v.size(axis))
            refuse("axis " + std::to_string(axis) + " differs; samples must be equal");
    const std::int64_t H = q.rank() > 2 ? q.size(-3) : 1, G = q.rank() > 2 ? k.size(-3) : 1;
    if ((q.rank() > 2 && v.size(-3) != G) || (H != G && (H == 0 || G == 0 || H % G != 0)))
        refuse("keys and values must have as many heads as the queries, or a number that divides it");
    if (q.size(-1) != k.size(-1))
        refuse("d_k is " + std::to_string(q.size(-1)) + " for queries and " + std::to_string(k.size(-1)) +
               " for keys; they must be equal");
    if (k.size(-2) != v.size(-2))
        refuse(std::to_string(k.size(-2)) + " keys for " + std::to_string(v.size(-2)) +
               " values; there must be one value for each key");
}

// Checks the options and completes them: the scale is set, the bias is (B|1, H|1, T|1, S|1), and the mask also
// blocks where the bias is −∞.
AttentionOptions completed(const char* caller, AttentionOptions o, const Qkv& qkv) {
    const Shape scores = shape_of_scores(qkv);
    o.scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, qkv[0].size(-1)))));
    if (!std::isfinite(*o.scale)) throw ValueError(caller, ": a scale of ", *o.scale, "; it must be finite");
    if (o.softcap && !(*o.softcap > 0 && std::isfinite(*o.softcap)))
        throw ValueError(caller, ": a softcap of ", *o.softcap, "; it must be finite and above 0");
    if (!(o.dropout >= 0 && o.dropout < 1))
        throw ValueError(caller, ": dropout is ", o.dropout, "; use 0 ≤ p < 1");
    if (o.rng == nullptr) o.rng = &default_rng();
    if (!o.bias.defined()) return o;
    const Op op(caller, Op::of_others);
    check_same_dtype(qkv[0], o.bias);
    if (broadcast_shapes(o.bias.shape(), scores, caller) != scores)
        throw ShapeError(caller, ": a bias of shape ", o.bias.shape(), " does not broadcast to the scores, ",
                         scores);
    o.bias = with_rank_4(o.bias);
    const Tensor blocked = o.bias == -INFINITY;
    if (!all(isfinite(o.bias) || blocked))
        throw ValueError(caller, ": the bias holds NaN or +inf; use finite values, or -inf to block");
    // −∞ alone would not block a score that overflowed to +∞.
    if (any(blocked)) o.mask = o.mask | Mask::blocked(blocked.expand({-1, -1, scores[2], scores[3]}));
    return o;
}

// (B, G, S, d) → (B, H, S, d): each of the G heads serves H / G neighbouring heads of queries.
Tensor repeat_kv(const Tensor& x, std::int64_t H) {
    const std::int64_t B = x.size(0), G = x.size(1), S = x.size(2), d = x.size(3);
    if (G == H) return x;
    return x.unsqueeze(2).expand({B, G, H / G, S, d}).reshape({B, H, S, d});
}

Tensor in_shape(const Tensor& x, const Shape& shape) { return x.shape() == shape ? x : x.reshape(shape); }

// The reference implementation: every step is a tensor with a name. The weights have the shape that the caller
// sees, and are what multiplies v, so that a gradient retained there is that of the whole result.
AttentionResult attention_reference(const char* caller, const Qkv& qkv, const AttentionOptions& o,
                                    const Shape& seen) {
    const Shape shape = shape_of_scores(qkv);                   // (B, H, T, S)
    const Tensor q = traced("q", qkv[0]);                       // (B, H, T, d_k)
    const Tensor k = traced("k", repeat_kv(qkv[1], shape[1]));  // (B, H, S, d_k)
    const Tensor v = traced("v", repeat_kv(qkv[2], shape[1]));  // (B, H, S, d_v)
    Tensor mask;
    if (!o.mask.blocks_nothing()) mask = o.mask.materialize(shape[0], shape[1], shape[2], shape[3], caller);
    Tensor scores =
        traced("scores", masked_matmul(q, k.transpose(-2, -1), mask, Pairs::in_y) * *o.scale);  // (B, H, T, S)
    if (o.softcap) scores = traced("capped scores", tanh(scores / *o.softcap) * *o.softcap);
    if (o.bias.defined()) scores = traced("biased scores", scores + o.bias);
    traced("mask", mask);
    if (mask.defined()) scores = traced("masked scores", masked_fill(scores, mask, -INFINITY));
    Tensor weights = traced("weights", softmax(scores, -1));  // fully masked rows are 0
    // Masked weights are 0 already; this makes their gradients 0 too, even where v is so large that they
    // overflow.
    if (mask.defined()) weights = masked_fill(weights, mask, 0);
    if (o.dropout > 0) weights = traced("weights after dropout", dropout(weights, o.dropout, *o.rng));
    weights = in_shape(weights, seen);
    return {traced("heads", masked_matmul(in_shape(weights, shape), v, mask, Pairs::in_a)),
            weights};  // (B, H, T, d_v)
}

// x as the kernel reads it: rows of consecutive elements that do not overlap (those of an expanded tensor do).
Array row_contiguous(const Tensor& x) {
    const Array a = kernels::dense_operand(x.array());
    const bool dense = a.strides[3] == 1 || a.shape[3] == 1,
               disjoint = a.strides[2] >= a.shape[3] || a.shape[2] == 1;
    return dense && disjoint ? a : kernels::contiguous(a);
}

// A tensor (B, H, n, d) for x's B, H and n, stored as (B, n, H, d), so merging its heads copies nothing.
Tensor make_token_major(const Tensor& x, std::int64_t d) {
    return Tensor(transposed_view(make_array({x.size(0), x.size(2), x.size(1), d}, x.dtype()), 1, 2));
}

// The same at once.
AttentionResult attention_fused(const char* caller, const Heads& heads, const Qkv& qkv,
                                const AttentionOptions& o, bool wants_weights, const Shape& seen) {
    const Shape shape = shape_of_scores(qkv), per_query{shape[0], shape[1], shape[2]};
    kernels::AttentionParams params{*o.scale,
                                    o.mask.is_causal(),
                                    o.mask.width().value_or(kernels::AttentionParams().window),
                                    {},
                                    {},
                                    o.bias.defined() ? broadcast_view(o.bias.array(), shape) : Array()};
    for (const Tensor& ids : o.mask.document_ids(shape[0], shape[2], shape[3], caller))
        params.documents.push_back(broadcast_view(ids.array(), {shape[0], shape[3]}));
    for (const Tensor& part : o.mask.rest(shape[0], shape[1], shape[2], shape[3], caller))
        params.blocked.push_back(broadcast_view(part.array(), shape));
    Rng::State draws;  // where the draws of dropout begin
    if (o.dropout > 0) {
        draws = o.rng->state();
        params.dropout = {o.dropout, draws.seed, o.rng->reserve(kernels::dropout_positions(shape.numel()))};
    }
    const auto& [q, k, v] = qkv;
    const kernels::SoftmaxStats stats{make_array(per_query, q.dtype()), make_array(per_query, q.dtype())};
    const Tensor y = make_token_major(q, v.size(3));
    const Array weights = wants_weights ? make_array(shape, q.dtype()) : Array();
    kernels::active().attention(y.array(), stats, weights,
                                {row_contiguous(q), row_contiguous(k), row_contiguous(v)}, params);

    const std::vector<Tensor> tensors = heads.tensors();
    const std::size_t n = wants_weights ? 3 : tensors.size();  // of q, k and v, or the packed projection
    PackedHeads sizes;
    if (const auto* packed = std::get_if<PackedHeads>(&heads.form)) sizes = *packed;
    sizes.qkv = {};  // the rule holds what it saves, and no tensor beside it
    // The reference implementation again, with the same draws.
    const auto again = [caller, o, sizes, draws, n, shape](const std::vector<Tensor>& in) {
        AttentionOptions options = o;
        options.bias = in[n];
        Rng rng;
        rng.set_state(draws);
        options.rng = &rng;
        return attention_reference(caller, as_heads(in, n, sizes).qkv(), options, shape);
    };
    // The mask is an input, too, so backward notices if it was changed in place.
    const auto with_bias_and_mask = [&](std::vector<Tensor> inputs) {
        inputs.push_back(o.bias);
        inputs.insert(inputs.end(), o.mask.parts().begin(), o.mask.parts().end());
        return inputs;
    };
    if (wants_weights) {  // y = weights · v in the graph, too
        const Qkv parts = heads.qkv();
        AttentionResult result;
        result.weights =
            traced(o.dropout > 0 ? "weights after dropout" : "weights",
                   fused(
                       "attention weights", with_bias_and_mask({parts[0], parts[1], parts[2].detach()}),
                       [again](const std::vector<Tensor>& in) { return again(in).weights; },
                       [&] { return FusedResult{Tensor(weights)}; }));
        result.weights = in_shape(result.weights, seen);
        Tensor mask;
        if (!o.mask.blocks_nothing()) mask = o.mask.materialize(shape[0], shape[1], shape[2], shape[3], caller);
        result.output = fused(
            "scaled_dot_product_attention", {in_shape(result.weights, shape), parts[2], mask},
            [H = shape[1]](const std::vector<Tensor>& in) {
                return masked_matmul(in[0], repeat_kv(in[1], H), in[2], Pairs::in_a);
            },
            [&] { return FusedResult{y}; });
        return result;
    }
    const auto rule = [params, n, sizes, own = n + 1 + o.mask.parts().size()](const Saved& saved,
                                                                              const Tensor& dy) {
        std::vector<Tensor> inputs, grads;
        for (std::size_t i = 0; i < n; ++i) {
            const Tensor& x = inputs.emplace_back(saved[i]);
            grads.push_back(n == 1 ? empty(x.shape(), x.dtype()) : make_token_major(x, x.size(3)));
        }
        const auto [q, k, v] = as_heads(inputs, n, sizes).qkv();
        const auto [dq, dk, dv] = as_heads(grads, n, sizes).qkv();  // views of a packed gradient
        const Tensor dbias = saved.needs_input_grad(n) ? zeros(saved[n].shape(), float64) : Tensor();
        kernels::active().attention_backward(
            {dq.array(), dk.array(), dv.array()}, dbias.defined() ? dbias.array() : Array(), row_contiguous(dy),
            saved[own].array(), {saved[own + 1].array(), saved[own + 2].array()},
            {row_contiguous(q), row_contiguous(k), row_contiguous(v)}, params);
        grads.push_back(dbias.defined() ? dbias.to(dy.dtype()) : dbias);
        grads.resize(own);  // the mask has none
        return grads;
    };
    return {fused(
                "scaled_dot_product_attention", with_bias_and_mask(tensors),
                [again](const std::vector<Tensor>& in) { return again(in).output; },
                [&] {
                    return FusedResult{y, {y, Tensor(stats.max), Tensor(stats.inverse_sum)}};
                },
                rule),
            {}};
}

}  // namespace

AttentionResult Heads::attend(const char* caller, const AttentionOptions& options, bool wants_weights) const {
    std::optional<Op> whole;  // unless its steps are recorded
    if (!composed_mode()) whole.emplace("scaled_dot_product_attention");
    Heads heads = *this;
    Qkv qkv = values_of(heads);
    check_heads(caller, qkv[0], qkv[1], qkv[2]);
    Shape y = qkv[0].shape(), w = y;
    y[-1] = qkv[2].size(-1);
    w[-1] = qkv[1].size(-2);
    if (y.rank() != 4) {
        if (auto* packed = std::get_if<PackedHeads>(&heads.form))
            packed->qkv = packed->qkv.unsqueeze(0);
        else
            for (Tensor& x : std::get<Qkv>(heads.form)) x = with_rank_4(x);
        qkv = values_of(heads);
    }
    const AttentionOptions o = completed(caller, options, qkv);

    // The kernel cannot scale by 0, because BLAS does not read what it would multiply by 0, and so misses NaN.
    const bool is_fused = !composed_mode() && !o.softcap && static_cast<float>(*o.scale) != 0;
    const AttentionResult result = is_fused ? attention_fused(caller, heads, qkv, o, wants_weights, w)
                                            : attention_reference(caller, heads.qkv(), o, w);
    return {in_shape(result.output, y), result.weights};
}

Tensor scaled_dot_product_attention(const Heads& heads, const AttentionOptions& options) {
    return heads.attend("scaled_dot_product_attention", options).output;
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
    return scaled_dot_product_attention(Heads{{q, k, v}}, options);
}

AttentionResult scaled_dot_product_attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                          const AttentionOptions& options) {
    return Heads{{q, k, v}}.attend("scaled_dot_product_attention_with_weights", options, true);
}

Tensor multi_head_attention(const Tensor& qkv, std::int64_t num_heads, const AttentionOptions& options) {
    const char* const operation = "multi_head_attention";
    const Heads heads = Heads::packed(qkv, num_heads, 0, operation);  // q, k and v, each (B, H, T, d_k)
    return traced("merged", Heads::merge(heads.attend(operation, options).output));
}

}  // namespace weft
