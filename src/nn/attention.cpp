// Multi-head attention: project, split into heads, attend, merge, project.
#include "weft/nn/attention.h"

#include "nn/parts.h"
#include "nn/registry.h"
#include "weft/core/op.h"

namespace weft::nn {

std::int64_t head_dim(std::int64_t d_model, std::int64_t num_heads, const char* module) {
    if (d_model < 1 || num_heads < 1 || d_model % num_heads != 0)
        throw ValueError(module, ": d_model ", d_model, " does not divide into ", num_heads,
                         " heads; both must be at least 1 and d_model a multiple of num_heads");
    return d_model / num_heads;
}

namespace {
const char* const multi_head = "MultiHeadAttention";
const char* const causal = "CausalMultiHeadAttention";
}  // namespace

MultiHeadAttention::MultiHeadAttention(const RngGuard& rng, std::int64_t d_model, std::int64_t num_heads,
                                       const MultiHeadAttentionOptions& options)
    : Module(multi_head),
      d_model(d_model),
      num_heads(num_heads),
      d_k(head_dim(d_model, num_heads, multi_head)),
      dropout(checked_probability(options.dropout, multi_head)),
      W_qkv(register_module("W_qkv", Linear(d_model, 3 * d_model, rng, options.bias))),
      W_out(register_module("W_out", Linear(d_model, d_model, rng, options.bias))),
      rng_(dropout > 0 ? register_generator("rng", rng) : nullptr) {}

std::array<Tensor, 3> MultiHeadAttention::project(const Tensor& query, const Tensor& key,
                                                  const Tensor& value) const {
    check_tokens(multi_head, "query", query, d_model);
    check_tokens(multi_head, "key", key, d_model);
    check_tokens(multi_head, "value", value, d_model);
    traced("X", query);
    if (are_one(query, key, value))
        return Heads::split_qkv(traced("QKV", W_qkv(query)), num_heads);  // (B, H, T, d_k) each
    if (Ownership::is_hooked(W_qkv))
        throw ValueError(
            multi_head,
            ": cross-attention uses parts of W_qkv, which gives a hook of W_qkv nothing to act on; "
            "make an Attention with fused = false, and hook its W_q, W_k or W_v");
    traced("X of keys", key);
    traced("X of values", value);
    const auto rows = [&](const Tensor& x) { return x.defined() ? split(x, d_model) : std::vector<Tensor>(3); };
    const std::vector<Tensor> W = rows(W_qkv.weight), b = rows(W_qkv.bias);
    const Tensor Q = traced("Q", linear(query, W[0], b[0]));  // (B, T, C)
    const Tensor K = traced("K", linear(key, W[1], b[1]));    // (B, S, C)
    const Tensor V = traced("V", linear(value, W[2], b[2]));  // (B, S, C)
    return {split_heads(Q, num_heads), split_heads(K, num_heads), split_heads(V, num_heads)};
}

AttentionResult MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const Mask& mask, bool wants_weights) const {
    return located(*this, [&]() -> AttentionResult {
        const AttentionOptions options{.mask = mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
        AttentionResult y;  // (B, T, C), (B, H, T, S)
        if (are_one(query, key, value) && !wants_weights) {
            check_tokens(multi_head, "query", query, d_model);
            const Tensor QKV = traced("QKV", W_qkv(traced("X", query)));  // (B, T, 3C)
            const Op op(multi_head, Op::of_others);
            y.output = multi_head_attention(QKV, num_heads, options);
        } else {
            y = attend(multi_head, project(query, key, value), options, wants_weights);
        }
        return {traced("Y", W_out(y.output)), y.weights};  // (B, T, C)
    });
}

CausalMultiHeadAttention::CausalMultiHeadAttention(const RngGuard& rng, std::int64_t d_model,
                                                   std::int64_t num_heads,
                                                   const CausalMultiHeadAttentionOptions& options)
    : Module(causal),
      d_model(d_model),
      num_heads(num_heads),
      d_k(head_dim(d_model, num_heads, causal)),
      max_seq_len(options.max_seq_len),
      dropout(checked_probability(options.dropout, causal)),
      W_qkv(register_module("W_qkv", Linear(d_model, 3 * d_model, rng, options.bias))),
      W_out(register_module("W_out", Linear(d_model, d_model, rng, options.bias))),
      rng_(dropout > 0 ? register_generator("rng", rng) : nullptr) {
    if (max_seq_len < 1) throw ValueError(causal, ": max_seq_len must be at least 1, not ", max_seq_len);
}

AttentionResult CausalMultiHeadAttention::forward(const Tensor& x, const Mask& extra_mask,
                                                  bool wants_weights) const {
    return located(*this, [&]() -> AttentionResult {
        check_tokens(causal, "x", x, d_model);
        if (x.size(-2) > max_seq_len)
            throw ShapeError(causal, ": ", x.size(-2), " tokens in ", x.shape(), ", but max_seq_len is ",
                             max_seq_len, "; make it with a larger one, or give fewer tokens");
        const AttentionOptions options{
            .mask = Mask::causal() | extra_mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
        const Tensor QKV = traced("QKV", W_qkv(traced("X", x)));  // (B, T, 3C)
        AttentionResult y;                                        // (B, T, C), (B, H, T, T)
        if (wants_weights) {
            y = attend(causal, Heads::split_qkv(QKV, num_heads), options, true);
        } else {
            const Op op(causal, Op::of_others);
            y.output = multi_head_attention(QKV, num_heads, options);
        }
        return {traced("Y", W_out(y.output)), y.weights};  // (B, T, C)
    });
}

Tensor CausalMultiHeadAttention::mask() const {
    return Mask::causal().materialize(1, 1, max_seq_len, max_seq_len).reshape({max_seq_len, max_seq_len});
}

}  // namespace weft::nn
