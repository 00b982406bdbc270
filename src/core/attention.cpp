// Attention, step by step; heads as columns of tokens; and the product that passes over what is blocked.
#include "weft/core/attention.h"

#include <cmath>
#include <optional>
#include <utility>

#include "core/common.h"
#include "core/run.h"

namespace weft {

namespace {

using kernels::Pairs;

// The width of each of `parts` equal parts of x's columns.
std::int64_t part_width(const Tensor& x, std::int64_t parts, const char* caller) {
    if (x.rank() != 2 && x.rank() != 3)
        throw ShapeError(caller, ": takes (B, T, C) or (T, C), not ", x.shape());
    if (parts < 1 || x.size(-1) % parts != 0)
        throw ShapeError(caller, ": the last axis of ", x.shape(), " does not divide into ", parts,
                         " equal parts; use a number of heads that divides it");
    return x.size(-1) / parts;
}

}  // namespace

Tensor Heads::split(const Tensor& x, std::int64_t num_heads, const char* caller) {
    const std::int64_t d_k = part_width(x, num_heads, caller);
    if (x.rank() == 2) return x.reshape({x.size(0), num_heads, d_k}).permute({1, 0, 2});  // (H, T, d_k)
    return x.reshape({x.size(0), x.size(1), num_heads, d_k}).permute({0, 2, 1, 3});       // (B, H, T, d_k)
}

Tensor Heads::merge(const Tensor& x, const char* caller) {
    if (x.rank() == 3)  // (H, T, d_k) → (T, H, d_k) → (T, C)
        return x.permute({1, 0, 2}).reshape({x.size(1), x.size(0) * x.size(2)});
    if (x.rank() == 4)  // (B, H, T, d_k) → (B, T, H, d_k) → (B, T, C)
        return x.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
    throw ShapeError(caller, ": takes (B, H, T, d_k) or (H, T, d_k), not ", x.shape());
}

std::array<Tensor, 3> Heads::split_qkv(const Tensor& x, const HeadSizes& sizes, const char* caller) {
    const auto [H, G, d_k] = sizes;
    const std::int64_t parts = H < 1 || G < 1 ? 0 : H + 2 * G;
    const std::int64_t width = d_k > 0 && parts > 0 ? d_k : part_width(x, parts, caller);
    const std::int64_t q_end = H * width, k_end = q_end + G * width;
    if (k_end > x.size(-1) || (x.size(-1) - k_end) % G != 0)
        throw ShapeError(caller, ": the last axis of ", x.shape(), " is not ", H + G, " · ", width,
                         " columns of queries and keys, and values in ", G, " equal parts; change the sizes");
    return {split(x.slice(-1, 0, q_end), H, caller), split(x.slice(-1, q_end, k_end), G, caller),
            split(x.slice(-1, k_end, x.size(-1)), G, caller)};
}

namespace {

// The values of y. If the plain product is finite, it is the result, because then everything in it was finite.
Tensor values(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs) {
    const NoGrad off;
    const Tensor y = matmul(a, b);
    if (all(isfinite(y))) return y;
    if (pairs == Pairs::in_y) return blocked.defined() ? masked_fill(y, blocked, 0) : y;
    const Tensor none = blocked.defined() ? blocked : zeros({}, boolean);
    const Shape& shape = (pairs == Pairs::in_a ? a : b).shape();
    kernels::masked_matmul(y.array(), a.array(), b.array(), broadcast_view(none.array(), shape), pairs);
    return y;
}

// matmul, except that 0 · NaN and 0 · ∞ count as 0 where a query may not attend to a key. y (B, H, m, n) = a
// (B, H, m, k) @ b (B, H, k, n), where `pairs` says which of the three has an element for each pair of a query
// and a key: scores = q kᵀ have it in y, weights v in a. `blocked` (bool, broadcasting to its shape; undefined
// if none is) marks the masked pairs, which add nothing to y, not even NaN; if y has the pairs, its masked
// elements are unspecified. Gradients of any order are such products.
Tensor masked_matmul(const Tensor& a, const Tensor& b, const Tensor& blocked, Pairs pairs) {
    const Op op("matmul");
    const Tensor y = values(a, b, blocked, pairs);
    // y = a b:  da = dy bᵀ,  db = aᵀ dy
    return record(
        y, {a, b}, {a, b, blocked, y},
        [pairs](const Saved& saved, const Tensor& dy) {
            const Tensor &a = saved[0], &b = saved[1];
            Tensor blocked = saved[2];
            if (pairs != Pairs::in_b) {
                const Tensor no_gradient = rows_without_gradient(saved[3], dy, -1);
                if (no_gradient.defined()) blocked = blocked.defined() ? blocked || no_gradient : no_gradient;
            }
            const Tensor flipped = blocked.defined() ? blocked.transpose(-2, -1) : Tensor();
            // Which matrix of dy bᵀ and of aᵀ dy has the pairs that y = a b has in a, in b or in y.
            constexpr Pairs in_da[] = {Pairs::in_y, Pairs::in_b, Pairs::in_a};
            constexpr Pairs in_db[] = {Pairs::in_a, Pairs::in_y, Pairs::in_b};
            const auto i = static_cast<std::size_t>(pairs);
            Grads grads(2);
            if (saved.needs_input_grad(0))
                grads[0] =
                    masked_matmul(dy, b.transpose(-2, -1), pairs == Pairs::in_b ? flipped : blocked, in_da[i]);
            if (saved.needs_input_grad(1))
                grads[1] =
                    masked_matmul(a.transpose(-2, -1), dy, pairs == Pairs::in_a ? flipped : blocked, in_db[i]);
            return grads;
        },
        [pairs](const Saved& saved, const Grads& dx) {
            const auto product = [&](const Tensor& a, const Tensor& b) {
                return masked_matmul(a, b, saved[2], pairs);
            };
            return product_rule(product, saved, dx);
        });
}

// B samples, H heads of queries, G of keys and values, T queries, S keys, d_k and d_v widths.

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

// Of the operation that runs, as everywhere here.
void check_heads(const Tensor& q, const Tensor& k, const Tensor& v) {
    check_floating(q);
    check_same_dtype(q, k);
    check_same_dtype(q, v);
    const auto refuse = [&](const std::string& why) {
        throw ShapeError(Op::name(), ": q ", q.shape(), ", k ", k.shape(), ", v ", v.shape(), ": ", why);
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

// The options, checked and completed, for these q, k and v: the scale is set, the bias is (B|1, H|1, T|1, S|1),
// the mask also blocks where the bias is −∞, and dropout has its draws.
AttentionSetup set_up(const Qkv& qkv, const AttentionOptions& given) {
    AttentionSetup setup{given, {}, {}};
    AttentionOptions& o = setup.options;
    const Shape scores = shape_of_scores(qkv);
    o.scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, qkv[0].size(-1)))));
    if (!std::isfinite(*o.scale))
        throw ValueError(Op::name(), ": a scale of ", *o.scale, "; it must be finite");
    if (o.softcap && !(*o.softcap > 0 && std::isfinite(*o.softcap)))
        throw ValueError(Op::name(), ": a softcap of ", *o.softcap, "; it must be finite and above 0");
    if (!(o.dropout >= 0 && o.dropout < 1))
        throw ValueError(Op::name(), ": dropout is ", o.dropout, "; use 0 ≤ p < 1");
    if (o.bias.defined()) {
        check_same_dtype(qkv[0], o.bias);
        if (broadcast_shapes(o.bias.shape(), scores) != scores)
            throw ShapeError(Op::name(), ": a bias of shape ", o.bias.shape(),
                             " does not broadcast to the scores, ", scores);
        o.bias = with_rank_4(o.bias);
        const Tensor blocked = o.bias == -INFINITY;
        if (!all(isfinite(o.bias) || blocked))
            throw ValueError(Op::name(), ": the bias holds NaN or +inf; use finite values, or -inf to block");
        // −∞ alone would not block a score that overflowed to +∞.
        if (any(blocked)) o.mask = o.mask | Mask::blocked(blocked.expand({-1, -1, scores[2], scores[3]}));
    }
    setup.documents = o.mask.document_ids(scores[0], scores[2], scores[3]);
    setup.blocked = o.mask.rest(scores[0], scores[1], scores[2], scores[3]);
    Rng& rng = o.rng == nullptr ? default_rng() : *o.rng;
    if (o.dropout > 0)
        setup.dropout = {o.dropout, rng.seed(), rng.reserve(kernels::dropout_positions(scores.numel()))};
    return setup;
}

// The heads with what else backward needs: tensors in options are inputs, so that changes are noticed.
Inputs with_options(Inputs inputs, AttentionSetup& setup) {
    inputs.push_back(std::exchange(setup.options.bias, {}));
    const std::vector<Tensor>& parts = setup.options.mask.parts();
    inputs.insert(inputs.end(), parts.begin(), parts.end());
    return inputs;
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
    if (!o.mask.blocks_nothing()) mask = o.mask.materialize(shape[0], shape[1], shape[2], shape[3]);
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
    const Qkv qkv{in[0], in[1], in[2]};
    return small_attention(qkv, in[3], setup, shape_of_scores(qkv)).output;
}

Tensor small_packed_attention(const Inputs& in, const PackedSetup& setup) {
    const Qkv qkv = Heads::split_qkv(in[0], setup.sizes);
    return small_attention(qkv, in[1], setup, shape_of_scores(qkv)).output;
}

const char* const sdpa = "scaled_dot_product_attention";
// What a profile measures: all of it, or the steps where these are what is recorded.
Op::Made measured() { return is_plain(Plain::operations) ? Op::of_others : Op::by_itself; }

// x's shape with another last axis.
Shape with_last(const Tensor& x, std::int64_t size) {
    Shape shape = x.shape();
    shape[-1] = size;
    return shape;
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
    const Op op(sdpa, Op::of_others), whole(sdpa, measured());
    check_heads(q, k, v);
    const Qkv qkv{with_rank_4(q), with_rank_4(k), with_rank_4(v)};
    AttentionSetup setup = set_up(qkv, options);
    const Inputs inputs = with_options({qkv[0], qkv[1], qkv[2]}, setup);
    return in_shape(run(sdpa, inputs, setup, small_attention, attention_kernel), with_last(q, v.size(-1)));
}

AttentionResult scaled_dot_product_attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                                          const AttentionOptions& options) {
    const Op op("scaled_dot_product_attention_with_weights", Op::of_others), whole(sdpa, measured());
    check_heads(q, k, v);
    const Qkv qkv{with_rank_4(q), with_rank_4(k), with_rank_4(v)};
    const AttentionSetup setup = set_up(qkv, options);
    const AttentionResult result = small_attention(qkv, setup.options.bias, setup, with_last(q, k.size(-2)));
    return {in_shape(result.output, with_last(q, v.size(-1))), result.weights};
}

namespace {

Tensor packed_attention(const Tensor& x, const HeadSizes& sizes, const AttentionOptions& options) {
    const Op whole(sdpa, measured());
    const auto values = [&](const Tensor& tokens) {
        const Op views("q, k and v");
        const NoGrad off;
        return Heads::split_qkv(tokens, sizes);
    };
    const auto [q, k, v] = values(x);
    check_heads(q, k, v);
    const Tensor tokens = x.rank() == 3 ? x : x.unsqueeze(0);
    PackedSetup setup{set_up(x.rank() == 3 ? Qkv{q, k, v} : values(tokens), options), sizes};
    const Inputs inputs = with_options({tokens}, setup);
    const Tensor y =
        run(sdpa, inputs, setup, small_packed_attention, packed_attention_kernel);  // (B, H, T, d_v)
    return in_shape(y, with_last(q, v.size(-1)));
}

}  // namespace

Tensor multi_head_attention(const Tensor& qkv, const HeadSizes& sizes, const AttentionOptions& options) {
    const Op op("multi_head_attention", Op::of_others);
    return traced("merged", Heads::merge(packed_attention(qkv, sizes, options)));
}

}  // namespace weft
