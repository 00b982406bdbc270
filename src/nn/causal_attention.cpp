// Causal self-attention, over whole sequences and after cached tokens.
// B batch, T tokens, S = past + T of them with the cached, C = d_model, H heads of queries, G of keys and
// values.
#include "nn/attention_checks.h"
#include "nn/cache_guard.h"
#include "weft/core/trace.h"
#include "weft/nn/attention.h"
#include "weft/nn/dropout.h"
#include "weft/nn/rotary.h"

namespace weft::nn {

namespace {

const char* const who = "CausalMultiHeadAttention";

}  // namespace

CausalMultiHeadAttention::CausalMultiHeadAttention(std::int64_t d_model, std::int64_t heads, Rng& rng,
                                                   CausalMultiHeadAttentionOptions options)
    : Module(who),
      d_model(d_model),
      heads(heads),
      kv_heads(key_heads(heads, options.kv_heads, who)),
      d_k(head_size(d_model, heads, who)),
      max_seq_len(options.max_seq_len),
      dropout(checked_probability(options.dropout, who)),
      rotary_base(checked_rotary(options.rotary_base, d_k, who)),
      W_qkv(child("W_qkv", Linear(d_model, (heads + 2 * kv_heads) * d_k, rng, options.bias))),
      W_out(child("W_out", Linear(d_model, d_model, rng, options.bias))) {
    const std::int64_t n = max_seq_len;
    if (n < 1)
        throw ValueError(std::string(who) + ": max_seq_len must be at least 1, not " + std::to_string(n));
    mask = buffer("mask", Mask::causal().materialize(1, 1, n, n).reshape({n, n}).contiguous(),
                  /*persistent=*/false);
    if (dropout > 0) rng_ = generator("rng", rng);
}

// Q, K and V side by side, (B, T, (H + 2G)·d_k), of tokens that follow `past` others.
Tensor CausalMultiHeadAttention::packed(const Tensor& x, std::int64_t past) const {
    check_tokens(x, d_model, who, "x");
    const std::int64_t T = x.size(-2);
    if (past + T > max_seq_len)
        throw ShapeError(std::string(who) + ": " + std::to_string(T) + " tokens in " + x.shape().str() +
                         (past > 0 ? " after " + std::to_string(past) + " in the cache" : std::string()) +
                         ", but max_seq_len is " + std::to_string(max_seq_len) +
                         "; make it with a larger one, or give fewer tokens");
    return traced("QKV", W_qkv(traced("X", x)));
}

// q (B, H, T, d_k), k and v (B, G, T, d_k).
std::array<Tensor, 3> CausalMultiHeadAttention::apart(const Tensor& qkv, std::int64_t past) const {
    auto [q, k, v] = split_heads(qkv, heads, kv_heads);
    if (rotary_base) q = rotary(q, past, *rotary_base), k = rotary(k, past, *rotary_base);
    return {q, k, v};
}

AttentionOptions CausalMultiHeadAttention::options(std::int64_t past, std::int64_t T, const Mask& also) const {
    const Mask causal =
        composed_mode() ? Mask::blocked(mask.slice(0, past, past + T).slice(1, 0, past + T)) : Mask::causal();
    return {.mask = causal | also, .dropout = training() ? dropout : 0, .rng = rng_.get()};
}

Tensor CausalMultiHeadAttention::operator()(const Tensor& x, const Mask& also) const {  // x: (B, T, C)
    const Tensor qkv = packed(x, 0);                                                    // (B, T, (H + 2G)·d_k)
    const AttentionOptions how = options(0, x.size(-2), also);
    if (!rotary_base && kv_heads == heads)  // the same as below, with q, k and v read where W_qkv left them
        return traced("Y", W_out(multi_head_attention(qkv, heads, how)));  // (B, T, C)
    const auto [q, k, v] = apart(qkv, 0);                                  // (B, H, T, d_k), …
    Tensor y = scaled_dot_product_attention(q, k, v, how);                 // (B, H, T, d_k)
    return traced("Y", W_out(traced("merged", merge_heads(y))));           // (B, T, C)
}

AttentionResult CausalMultiHeadAttention::with_weights(const Tensor& x, const Mask& also) const {
    const auto [q, k, v] = apart(packed(x, 0), 0);
    auto [y, weights] =
        scaled_dot_product_attention_with_weights(q, k, v, options(0, x.size(-2), also));  // (B, H, T, T)
    return {traced("Y", W_out(traced("merged", merge_heads(y)))), weights};
}

Tensor CausalMultiHeadAttention::operator()(const Tensor& x, KeyValueCache& cache, const Mask& also) const {
    const std::int64_t past = cache.length();
    const auto [q, k, v] = apart(packed(x, past), past);  // (B, H, T, d_k), …
    const CacheGuard guard({&cache, 1});
    const auto [keys, values] = cache.append(k, v);  // (B, G, S, d_k)
    Tensor y =
        scaled_dot_product_attention(q, keys, values, options(past, x.size(-2), also));  // (B, H, T, d_k)
    return traced("Y", W_out(traced("merged", merge_heads(y))));                         // (B, T, C)
}

}  // namespace weft::nn
