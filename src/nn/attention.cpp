// Multi-head attention: project, split into heads, attend, merge, project.
// B batch, T tokens (queries), S keys, C = d_model, H query heads, G key-value heads, d_k and d_v their widths.
#include "weft/nn/attention.h"

#include <cmath>

#include "weft/autograd/trace.h"
#include "weft/nn/cache_guard.h"
#include "weft/nn/dropout.h"
#include "weft/nn/rng_guard.h"
#include "weft/nn/rotary.h"

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

// Returns G.
std::int64_t checked_kv_heads(std::int64_t num_heads, std::int64_t num_kv_heads, const char* module) {
    if (num_kv_heads < 0 || (num_kv_heads > 0 && num_heads % num_kv_heads != 0))
        throw ValueError(module, ": ", num_heads, " query heads cannot share ", num_kv_heads,
                         " key-value heads; num_kv_heads must divide num_heads");
    return num_kv_heads == 0 ? num_heads : num_kv_heads;
}

std::optional<double> checked_rotary(std::optional<double> base, std::int64_t d_k, const char* module) {
    if (base && (!(*base > 0) || !std::isfinite(*base)))
        throw ValueError(module, ": rotary_base must be finite and above 0, not ", *base);
    if (base && d_k % 2 != 0)
        throw ValueError(module, ": rotary positions turn pairs of columns, but d_k is ", d_k,
                         "; it must be even");
    return base;
}

std::int64_t checked_length(std::int64_t max_seq_len) {
    if (max_seq_len < 1) throw ValueError(causal, ": max_seq_len must be at least 1, not ", max_seq_len);
    return max_seq_len;
}

void check_tokens(const Tensor& x, std::int64_t width, const char* module, const char* what) {
    if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) != width)
        throw ShapeError(module, ": ", what, " must be (B, T, ", width, ") or (T, ", width, "), not ",
                         x.shape());
}

// Rotates q and k by the positions of their tokens, the first of which is `past`.
Heads rotated(const Heads& heads, std::int64_t past, std::optional<double> base) {
    if (!base) return heads;
    const auto [q, k, v] = heads.qkv();
    return {{rotary(q, past, *base), rotary(k, past, *base), v}};
}

MultiHeadAttentionOptions with_defaults(std::int64_t d_model, std::int64_t num_heads,
                                        MultiHeadAttentionOptions o) {
    const auto fill = [&](std::int64_t& size, std::int64_t default_size, const char* name) {
        if (size < 0)
            throw ValueError(multi_head, ": ", name, " must be at least 1, or 0 for the default, not ", size);
        if (size == 0) size = default_size;
    };
    // With both widths given, num_heads need not divide d_model.
    const bool has_widths = d_model > 0 && num_heads > 0 && o.d_k != 0 && o.d_v != 0;
    const std::int64_t width = has_widths ? 0 : head_dim(d_model, num_heads, multi_head);
    fill(o.d_k, width, "d_k");
    fill(o.d_v, width, "d_v");
    fill(o.kdim, d_model, "kdim");
    fill(o.vdim, d_model, "vdim");
    o.num_kv_heads = checked_kv_heads(num_heads, o.num_kv_heads, multi_head);
    if (o.fused && (o.kdim != d_model || o.vdim != d_model))
        throw ValueError(multi_head, ": one fused projection reads tokens of one width, but d_model is ",
                         d_model, ", kdim ", o.kdim, " and vdim ", o.vdim, "; set fused = false");
    return o;
}

}  // namespace

// ---- MultiHeadAttention

MultiHeadAttention::MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                       MultiHeadAttentionOptions options)
    : MultiHeadAttention(with_defaults(d_model, num_heads, options), d_model, num_heads, RngGuard(rng)) {}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& all, std::int64_t d_model,
                                       std::int64_t num_heads, const RngGuard& rng)
    : Module(multi_head),
      d_model(d_model),
      num_heads(num_heads),
      num_kv_heads(all.num_kv_heads),
      d_k(all.d_k),
      d_v(all.d_v),
      kdim(all.kdim),
      vdim(all.vdim),
      dropout(checked_probability(all.dropout, multi_head)),
      rotary_base(checked_rotary(all.rotary_base, d_k, multi_head)),
      W_qkv(
          projection(all.fused, "W_qkv", d_model, num_heads * d_k + num_kv_heads * (d_k + d_v), rng, all.bias)),
      W_q(projection(!all.fused, "W_q", d_model, num_heads * d_k, rng, all.bias)),
      W_k(projection(!all.fused, "W_k", kdim, num_kv_heads * d_k, rng, all.bias)),
      W_v(projection(!all.fused, "W_v", vdim, num_kv_heads * d_v, rng, all.bias)),
      W_out(register_module("W_out", Linear(num_heads * d_v, d_model, rng, all.bias))) {
    if (dropout > 0) rng_ = register_generator("rng", rng);
}

std::optional<Linear> MultiHeadAttention::projection(bool wanted, const char* name, std::int64_t in,
                                                     std::int64_t out, Rng& rng, bool bias) {
    if (!wanted) return std::nullopt;
    return register_module(name, Linear(in, out, rng, bias));
}

Heads MultiHeadAttention::split(const Tensor& query, const Tensor& key, const Tensor& value) const {
    check_tokens(query, d_model, multi_head, "query");
    check_tokens(key, kdim, multi_head, "key");
    check_tokens(value, vdim, multi_head, "value");
    const bool is_self = query.handle() == key.handle() && key.handle() == value.handle();
    if (rotary_base && !is_self)
        throw ValueError(multi_head,
                         ": rotary positions count the tokens of one sequence, so query, key and value must be "
                         "the same tensor; leave out rotary_base for cross-attention");
    traced("X", query);
    if (W_qkv && is_self)  // (B, T, H·d_k + G·d_k + G·d_v)
        return rotated({{traced("QKV", (*W_qkv)(query))}, num_heads, num_kv_heads, d_k}, 0, rotary_base);

    if (!is_self) {
        traced("X of keys", key);
        traced("X of values", value);
    }
    std::vector<Tensor> weights, biases(3);  // those of W_q, W_k and W_v, or their rows in W_qkv
    if (W_qkv) {
        const std::vector<std::int64_t> rows{num_heads * d_k, num_kv_heads * d_k, num_kv_heads * d_v};
        weights = weft::split(W_qkv->weight, rows);
        if (W_qkv->bias.defined()) biases = weft::split(W_qkv->bias, rows);
    } else {
        weights = {W_q->weight, W_k->weight, W_v->weight};
        biases = {W_q->bias, W_k->bias, W_v->bias};
    }
    const Tensor q = traced("Q", linear(query, weights[0], biases[0]));  // (B, T, H·d_k)
    const Tensor k = traced("K", linear(key, weights[1], biases[1]));    // (B, S, G·d_k)
    const Tensor v = traced("V", linear(value, weights[2], biases[2]));  // (B, S, G·d_v)
    return rotated({{split_heads(q, num_heads), split_heads(k, num_kv_heads), split_heads(v, num_kv_heads)}}, 0,
                   rotary_base);
}

AttentionResult MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const Mask& mask, bool wants_weights) const {
    return located(*this, [&]() -> AttentionResult {
        const Heads heads = split(query, key, value);  // q (B, H, T, d_k), k (B, G, S, d_k), v (B, G, S, d_v)
        const AttentionOptions options = {.mask = mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
        const auto [y, weights] =
            heads.attend(multi_head, options, wants_weights);    // (B, H, T, d_v), (B, H, T, S)
        const Tensor merged = traced("merged", merge_heads(y));  // (B, T, H·d_v)
        return {traced("Y", W_out(merged)), weights};            // (B, T, C)
    });
}

// ---- CausalMultiHeadAttention

CausalMultiHeadAttention::CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                                   CausalMultiHeadAttentionOptions options)
    : Module(causal),
      d_model(d_model),
      num_heads(num_heads),
      num_kv_heads(checked_kv_heads(num_heads, options.num_kv_heads, causal)),
      d_k(head_dim(d_model, num_heads, causal)),
      max_seq_len(checked_length(options.max_seq_len)),
      dropout(checked_probability(options.dropout, causal)),
      rotary_base(checked_rotary(options.rotary_base, d_k, causal)),
      W_qkv(register_module("W_qkv", Linear(d_model, (num_heads + 2 * num_kv_heads) * d_k, rng, options.bias))),
      W_out(register_module("W_out", Linear(d_model, d_model, rng, options.bias))) {
    if (dropout > 0) rng_ = register_generator("rng", rng);
}

Tensor CausalMultiHeadAttention::mask() const {
    const Tensor made = find_buffer("mask");
    if (made.defined()) return made;
    const std::int64_t n = max_seq_len;
    return CausalMultiHeadAttention(*this).register_buffer(  // a copy is a handle of the same module
        "mask", Mask::causal().materialize(1, 1, n, n).reshape({n, n}), /*persistent=*/false);
}

// Returns q (B, H, T, d_k), k and v (B, G, S, d_k): the keys and values of the cache's tokens, then those of x.
Heads CausalMultiHeadAttention::project(const Tensor& x, KeyValueCache* cache) const {
    check_tokens(x, d_model, causal, "x");
    const std::int64_t T = x.size(-2), past = cache == nullptr ? 0 : cache->length();
    if (past + T > max_seq_len)
        throw ShapeError(causal, ": ", T, " tokens in ", x.shape(),
                         (past > 0 ? " after " + std::to_string(past) + " in the cache" : std::string()),
                         ", but max_seq_len is ", max_seq_len,
                         "; make it with a larger one, or give fewer tokens");
    const Tensor qkv = traced("QKV", W_qkv(traced("X", x)));  // (B, T, (H + 2G)·d_k)
    const Heads heads = rotated({{qkv}, num_heads, num_kv_heads, d_k}, past, rotary_base);
    if (cache == nullptr) return heads;
    const auto [q, k, v] = heads.qkv();
    const auto [keys, values] = cache->append(k, v);
    return {{q, keys, values}};
}

AttentionOptions CausalMultiHeadAttention::options(std::int64_t T, const KeyValueCache* cache,
                                                   const Mask& extra_mask) const {
    const std::int64_t S = cache == nullptr ? T : cache->length();
    const Tensor made = find_buffer("mask");
    const Mask own = made.defined() ? Mask::blocked(made.slice(0, S - T, S).slice(1, 0, S)) : Mask::causal();
    return {.mask = own | extra_mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
}

AttentionResult CausalMultiHeadAttention::forward(const Tensor& x, KeyValueCache* cache, const Mask& extra_mask,
                                                  bool wants_weights) const {  // x (B, T, C)
    return located(*this, [&]() -> AttentionResult {
        const CacheGuard guard({cache, cache == nullptr ? 0u : 1u});
        const Heads heads = project(x, cache);  // q (B, H, T, d_k), k and v (B, G, S, d_k)
        const AttentionOptions o = options(x.size(-2), cache, extra_mask);
        const auto [y, weights] = heads.attend(causal, o, wants_weights);  // (B, H, T, d_k), (B, H, T, S)
        const Tensor merged = traced("merged", merge_heads(y));            // (B, T, C)
        return {traced("Y", W_out(merged)), weights};                      // (B, T, C)
    });
}

}  // namespace weft::nn
