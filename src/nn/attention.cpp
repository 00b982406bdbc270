// Multi-head attention: project, split into heads, attend, merge, project.
// B batch, T tokens (queries), S keys, C = d_model, H query heads, G key-value heads, d_k and d_v their widths.
#include "weft/nn/attention.h"

#include <cmath>
#include <tuple>

#include "nn/registry.h"
#include "weft/core/op.h"
#include "weft/nn/clone.h"
#include "weft/nn/kv_cache.h"
#include "weft/nn/layers.h"

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

void check_tokens(const char* module, const char* what, const Tensor& x, std::int64_t width) {
    if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) != width)
        throw ShapeError(module, ": ", what, " must be (B, T, ", width, ") or (T, ", width, "), not ",
                         x.shape());
}

AttentionConfig with_defaults(std::int64_t d_model, std::int64_t num_heads, AttentionConfig c,
                              const char* module) {
    const auto fill = [&](std::int64_t& size, std::int64_t default_size, const char* name) {
        if (size < 0)
            throw ValueError(module, ": ", name, " must be at least 1, or 0 for the default, not ", size);
        if (size == 0) size = default_size;
    };
    // With both widths given, num_heads need not divide d_model.
    const bool has_widths = d_model > 0 && num_heads > 0 && c.d_k != 0 && c.d_v != 0;
    const std::int64_t width = has_widths ? 0 : head_dim(d_model, num_heads, module);
    fill(c.d_k, width, "d_k");
    fill(c.d_v, width, "d_v");
    fill(c.kdim, d_model, "kdim");
    fill(c.vdim, d_model, "vdim");
    c.num_kv_heads = checked_kv_heads(num_heads, c.num_kv_heads, module);
    c.bias = c.bias.value_or(false);
    c.dropout = checked_probability(c.dropout.value_or(0), module);
    if (module == causal) {
        c.max_seq_len = c.max_seq_len.value_or(1024);
        if (*c.max_seq_len < 1)
            throw ValueError(causal, ": max_seq_len must be at least 1, not ", *c.max_seq_len);
        if (!c.fused || c.kdim != d_model || c.vdim != d_model)
            throw ValueError(causal,
                             ": queries, keys and values come from one projection of the same tokens; "
                             "leave out fused, kdim and vdim");
    } else if (c.max_seq_len) {
        throw ValueError(multi_head, ": takes sequences of any length; leave out max_seq_len, or use ", causal);
    }
    if (c.fused && (c.kdim != d_model || c.vdim != d_model))
        throw ValueError(multi_head, ": one fused projection reads tokens of one width, but d_model is ",
                         d_model, ", kdim ", c.kdim, " and vdim ", c.vdim, "; set fused = false");
    return c;
}

}  // namespace

// ---- MultiHeadAttention

MultiHeadAttention::MultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                       AttentionConfig config)
    : MultiHeadAttention(multi_head, d_model, num_heads, with_defaults(d_model, num_heads, config, multi_head),
                         RngGuard(rng)) {}

MultiHeadAttention::MultiHeadAttention(const char* name, std::int64_t d_model, std::int64_t num_heads,
                                       const AttentionConfig& all, const RngGuard& rng)
    : Module(name),
      d_model(d_model),
      num_heads(num_heads),
      num_kv_heads(all.num_kv_heads),
      d_k(all.d_k),
      d_v(all.d_v),
      kdim(all.kdim),
      vdim(all.vdim),
      dropout(*all.dropout),
      rotary_base(checked_rotary(all.rotary_base, d_k, name)),
      W_qkv(register_module_if(
          all.fused, "W_qkv",
          [&] { return Linear(d_model, num_heads * d_k + num_kv_heads * (d_k + d_v), rng, *all.bias); })),
      W_q(register_module_if(!all.fused, "W_q",
                             [&] { return Linear(d_model, num_heads * d_k, rng, *all.bias); })),
      W_k(register_module_if(!all.fused, "W_k",
                             [&] { return Linear(kdim, num_kv_heads * d_k, rng, *all.bias); })),
      W_v(register_module_if(!all.fused, "W_v",
                             [&] { return Linear(vdim, num_kv_heads * d_v, rng, *all.bias); })),
      W_out(register_module("W_out", Linear(num_heads * d_v, d_model, rng, *all.bias))),
      name_(name),
      max_seq_len_(all.max_seq_len.value_or(0)),
      rng_(dropout > 0 ? register_generator("rng", rng) : nullptr) {}

namespace {
bool are_one(const Tensor& query, const Tensor& key, const Tensor& value) {
    return query.handle() == key.handle() && key.handle() == value.handle();
}
}  // namespace

// Checks the tokens, and names those of the queries.
void MultiHeadAttention::begin(const Tensor& query, const Tensor& key, const Tensor& value,
                               const KeyValueCache* cache) const {
    const bool is_self = are_one(query, key, value);
    check_tokens(name_, max_seq_len_ > 0 ? "x" : "query", query, d_model);
    check_tokens(name_, "key", key, kdim);
    check_tokens(name_, "value", value, vdim);
    if (rotary_base && !is_self)
        throw ValueError(name_,
                         ": rotary positions count the tokens of one sequence, so query, key and value must be "
                         "the same tensor; leave out rotary_base for cross-attention");
    if (W_qkv && !is_self && Ownership::is_hooked(*W_qkv))
        throw ValueError(
            name_,
            ": cross-attention uses parts of W_qkv, which gives a hook of W_qkv nothing to act on; "
            "set fused = false, and hook W_q, W_k or W_v");
    const std::int64_t T = query.size(-2), past = cache == nullptr ? 0 : cache->length();
    if (max_seq_len_ > 0 && past + T > max_seq_len_)
        throw ShapeError(name_, ": ", T, " tokens in ", query.shape(),
                         (past > 0 ? " after " + std::to_string(past) + " in the cache" : std::string()),
                         ", but max_seq_len is ", max_seq_len_,
                         "; make it with a larger one, or give fewer tokens");
    traced("X", query);
}

// Returns q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), after those of the cache's tokens.
std::array<Tensor, 3> MultiHeadAttention::heads(const Tensor& query, const Tensor& key, const Tensor& value,
                                                KeyValueCache* cache) const {
    const bool is_self = are_one(query, key, value);
    auto [q, k, v] = [&] {
        if (W_qkv && is_self)  // (B, T, H·d_k + G·d_k + G·d_v)
            return Heads::split_qkv(traced("QKV", (*W_qkv)(query)), {num_heads, num_kv_heads, d_k});
        if (!is_self) {
            traced("X of keys", key);
            traced("X of values", value);
        }
        std::vector<Tensor> weights, biases(3);  // the rows of W_qkv
        if (W_qkv) {
            const std::vector<std::int64_t> rows{num_heads * d_k, num_kv_heads * d_k, num_kv_heads * d_v};
            weights = split(W_qkv->weight, rows);
            if (W_qkv->bias.defined()) biases = split(W_qkv->bias, rows);
        }
        const auto projected = [&](const std::optional<Linear>& own, std::size_t i, const Tensor& x) {
            return own ? (*own)(x) : linear(x, weights[i], biases[i]);
        };
        const Tensor q = traced("Q", projected(W_q, 0, query));  // (B, T, H·d_k)
        const Tensor k = traced("K", projected(W_k, 1, key));    // (B, S, G·d_k)
        const Tensor v = traced("V", projected(W_v, 2, value));  // (B, S, G·d_v)
        return std::array{split_heads(q, num_heads), split_heads(k, num_kv_heads),
                          split_heads(v, num_kv_heads)};
    }();
    if (rotary_base) {
        const std::int64_t past = cache == nullptr ? 0 : cache->length();
        q = rotary(q, past, *rotary_base), k = rotary(k, past, *rotary_base);
    }
    if (cache != nullptr) std::tie(k, v) = std::tuple_cat(cache->append(k, v));
    return {q, k, v};
}

// Of the last T of S tokens.
Mask MultiHeadAttention::causal_mask(std::int64_t T, const KeyValueCache* cache) const {
    const Tensor given = find_buffer("mask");
    if (!given.defined()) return Mask::causal();
    const std::int64_t S = cache == nullptr ? T : cache->length();
    return Mask::blocked(given.slice(0, S - T, S).slice(1, 0, S));
}

AttentionResult MultiHeadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                            const Mask& mask, bool wants_weights, KeyValueCache* cache) const {
    const CacheGuard guard({cache, cache == nullptr ? 0u : 1u});
    return located(*this, [&]() -> AttentionResult {
        const auto options = [&] {
            const Mask given = cache == nullptr ? mask : mask.first_keys(cache->length());
            return AttentionOptions{
                .mask = max_seq_len_ > 0 ? causal_mask(query.size(-2), cache) | given : given,
                .dropout = training() ? dropout : 0,
                .rng = rng_.get()};
        };
        begin(query, key, value, cache);
        AttentionResult y;  // (B, T, H·d_v), (B, H, T, S)
        if (W_qkv && are_one(query, key, value) && !rotary_base && cache == nullptr && !wants_weights) {
            const Tensor qkv = traced("QKV", (*W_qkv)(query));  // (B, T, H·d_k + G·d_k + G·d_v)
            const Op op(name_, Op::of_others);
            y.output = multi_head_attention(qkv, {num_heads, num_kv_heads, d_k}, options());
        } else {
            const auto [q, k, v] = heads(query, key, value, cache);
            const Op op(name_, Op::of_others);
            if (wants_weights)
                y = scaled_dot_product_attention_with_weights(q, k, v, options());
            else
                y.output = scaled_dot_product_attention(q, k, v, options());
            y.output = traced("merged", merge_heads(y.output));
        }
        return {traced("Y", W_out(y.output)), y.weights};  // (B, T, C)
    });
}

// ---- CausalMultiHeadAttention

CausalMultiHeadAttention::CausalMultiHeadAttention(std::int64_t d_model, std::int64_t num_heads, Rng& rng,
                                                   AttentionConfig config)
    : CausalMultiHeadAttention(MultiHeadAttention(
          causal, d_model, num_heads, with_defaults(d_model, num_heads, config, causal), RngGuard(rng))) {}

CausalMultiHeadAttention::CausalMultiHeadAttention(MultiHeadAttention same)
    : Module(same),
      d_model(same.d_model),
      num_heads(same.num_heads),
      num_kv_heads(same.num_kv_heads),
      d_k(same.d_k),
      d_v(same.d_v),
      max_seq_len(same.max_seq_len_),
      dropout(same.dropout),
      rotary_base(same.rotary_base),
      W_qkv(*same.W_qkv),
      W_out(same.W_out),
      attention_(std::move(same)) {}

Tensor CausalMultiHeadAttention::mask() const {
    const Tensor given = find_buffer("mask");
    const std::int64_t n = max_seq_len;
    return given.defined() ? given : Mask::causal().materialize(1, 1, n, n).reshape({n, n});
}

void CausalMultiHeadAttention::set_mask(const Tensor& blocked) {
    const Shape wanted{max_seq_len, max_seq_len};
    if (blocked.dtype() != boolean)
        throw DTypeError(causal, ": a mask is bool, true where a key is blocked, not ", name(blocked.dtype()));
    if (blocked.shape() != wanted)
        throw ShapeError(causal, ": a mask must be ", wanted, ", not ", blocked.shape());
    if (Tensor given = find_buffer("mask"); given.defined())
        given.copy_(blocked);
    else
        (void)register_buffer("mask", blocked.clone(), /*persistent=*/false);
}

}  // namespace weft::nn
