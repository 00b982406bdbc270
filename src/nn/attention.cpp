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

MultiHeadAttention::MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                       MultiHeadAttentionOptions options)
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
    check_tokens(multi_head, query, key, value, d_model);
    traced("X", query);
    if (are_one(query, key, value)) return Heads::split_qkv(traced("QKV", W_qkv(query)), num_heads);
    return project_by_rows(multi_head, W_qkv, {num_heads, num_heads, d_k}, query, key, value);
}

AttentionResult MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const Mask& mask, bool wants_weights) const {
    return located(*this, [&]() -> AttentionResult {
        const AttentionOptions options{.mask = mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
        check_tokens(multi_head, query, key, value, d_model);
        const AttentionResult y =  // (B, T, C), (B, H, T, S)
            are_one(query, key, value) ? attend(multi_head, traced("QKV", W_qkv(traced("X", query))), num_heads,
                                                options, wants_weights)
                                       : attend(multi_head, project(query, key, value), options, wants_weights);
        return {traced("Y", W_out(y.output)), y.weights};  // (B, T, C)
    });
}

CausalMultiHeadAttention::CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                                   CausalMultiHeadAttentionOptions options)
    : Module(causal),
      d_model(d_model),
      num_heads(num_heads),
      d_k(head_dim(d_model, num_heads, causal)),
      max_seq_len(checked_size(options.max_seq_len, "CausalMultiHeadAttention: max_seq_len")),
      dropout(checked_probability(options.dropout, causal)),
      W_qkv(register_module("W_qkv", Linear(d_model, 3 * d_model, rng, options.bias))),
      W_out(register_module("W_out", Linear(d_model, d_model, rng, options.bias))),
      rng_(dropout > 0 ? register_generator("rng", rng) : nullptr) {}

AttentionResult CausalMultiHeadAttention::forward(const Tensor& x, const Mask& extra_mask,
                                                  bool wants_weights) const {
    return located(*this, [&]() -> AttentionResult {
        check_tokens(causal, "x", x, d_model);
        check_length(causal, x, 0, max_seq_len);
        const AttentionOptions options{
            .mask = Mask::causal() | extra_mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
        const Tensor QKV = traced("QKV", W_qkv(traced("X", x)));  // (B, T, 3C)
        const AttentionResult y =
            attend(causal, QKV, num_heads, options, wants_weights);  // (B, T, C), (B, H, T, T)
        return {traced("Y", W_out(y.output)), y.weights};            // (B, T, C)
    });
}

Tensor CausalMultiHeadAttention::mask() const {
    return Mask::causal().materialize(1, 1, max_seq_len, max_seq_len).reshape({max_seq_len, max_seq_len});
}

}  // namespace weft::nn
