// B samples, H heads of queries, G of keys and values, T queries, S keys, d_k and d_v widths.
#include "weft/ops/attention.h"

#include <cmath>
#include <optional>
#include <utility>

#include "ops/masked_matmul.h"
#include "ops/slots.h"

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

// The definition: every step is a tensor with a name. The weights have the shape that the caller
// sees, and are what multiplies v, so that a gradient retained there is that of the whole result.
AttentionResult small_attention(const Qkv& qkv, const Tensor& bias, const AttentionSetup& setup,
                                const Shape& seen) {
    const AttentionOptions& o = setup.options;
    const Shape shape = shape_of_scores(qkv);                   // (B, H, T, S)
    const Tensor q = traced("q", qkv[0]);                       // (B, H, T, d_k)
    const Tensor k = traced("k", repeat_kv(qkv[1], shape[1]));  // (B, H, S, d_k)
    const Tensor v = traced("v", repeat_kv(qkv[2], shape[1]));  // (B, H, S, d_v)
    Tensor mask;
    if (!o.mask.blocks_nothing())
        mask = o.mask.materialize(shape[0], shape[1], shape[2], shape[3], setup.caller);
    Tensor scores =
        traced("scores", masked_matmul(q, k.transpose(-2, -1), mask, Pairs::in_y) * *o.scale);  // (B, H, T, S)
    if (o.softcap) scores = traced("capped scores", tanh(scores / *o.softcap) * *o.softcap);
    if (bias.defined()) scores = traced("biased scores", scores + bias);
    traced("mask", mask);
    if (mask.defined()) scores = traced("masked scores", masked_fill(scores, mask, -INFINITY));
    Tensor weights = traced("weights", softmax(scores, -1));  // fully masked rows are 0
    // Masked weights are 0 already; this makes their gradients 0 too, even where v is so large that they
    // overflow.
    if (mask.defined()) weights = masked_fill(weights, mask, 0);
    if (o.dropout > 0)
        weights =
            traced("weights after dropout", weights * dropout_mask(shape, weights.dtype(), setup.dropout));
    weights = in_shape(weights, seen);
    return {traced("heads", masked_matmul(in_shape(weights, shape), v, mask, Pairs::in_a)),
            weights};  // (B, H, T, d_v)
}

Tensor small_attention(const Inputs& in, const AttentionSetup& setup) {
    const Qkv qkv = setup.heads(in).qkv();
    return small_attention(qkv, in[setup.n], setup, shape_of_scores(qkv)).output;
}

}  // namespace

// The first inputs as heads.
Heads AttentionSetup::heads(const Inputs& in) const {
    if (n == 3) return Qkv{in[0], in[1], in[2]};
    PackedHeads packed = sizes;
    packed.qkv = in[0];
    return packed;
}

AttentionResult Heads::attend(const char* caller, const AttentionOptions& options, bool wants_weights) const {
    std::optional<Op> whole;  // unless its steps are recorded
    if (!is_plain(Plain::operations)) whole.emplace("scaled_dot_product_attention");
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
    const Shape scores = shape_of_scores(qkv);
    AttentionSetup setup{caller, completed(caller, options, qkv), {}, {}};
    const AttentionOptions& o = setup.options;
    setup.documents = o.mask.document_ids(scores[0], scores[2], scores[3], caller);
    setup.blocked = o.mask.rest(scores[0], scores[1], scores[2], scores[3], caller);
    if (o.dropout > 0)
        setup.dropout = {o.dropout, o.rng->seed(), o.rng->reserve(kernels::dropout_positions(scores.numel()))};
    if (wants_weights) {
        const AttentionResult result = small_attention(heads.qkv(), o.bias, setup, w);
        return {in_shape(result.output, y), result.weights};
    }
    Inputs inputs = heads.tensors();
    setup.n = inputs.size();
    if (const auto* packed = std::get_if<PackedHeads>(&heads.form)) setup.sizes = *packed;
    setup.sizes.qkv = {};  // an input, which backward saves
    inputs.push_back(std::exchange(setup.options.bias, {}));
    inputs.insert(inputs.end(), o.mask.parts().begin(), o.mask.parts().end());  // so changes are noticed
    return {in_shape(run("scaled_dot_product_attention", inputs, setup, small_attention, attention_kernel), y),
            {}};
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
