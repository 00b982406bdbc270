// Project, split into heads, turn, append to a cache, attend, merge, project.
#include "weft/nn/general_attention.h"

#include <cmath>
#include <tuple>

#include "nn/parts.h"
#include "nn/registry.h"
#include "weft/core/op.h"
#include "weft/nn/attention.h"

namespace weft::nn {

namespace {

const char* const module_name = "Attention";

// Returns G.
std::int64_t checked_kv_heads(std::int64_t num_heads, std::int64_t num_kv_heads) {
    if (num_kv_heads < 0 || (num_kv_heads > 0 && num_heads % num_kv_heads != 0))
        throw ValueError(module_name, ": ", num_heads, " query heads cannot share ", num_kv_heads,
                         " key-value heads; num_kv_heads must divide num_heads");
    return num_kv_heads == 0 ? num_heads : num_kv_heads;
}

std::optional<double> checked_rotary(std::optional<double> base, std::int64_t d_k) {
    if (base && (!(*base > 0) || !std::isfinite(*base)))
        throw ValueError(module_name, ": rotary_base must be finite and above 0, not ", *base);
    if (base && d_k % 2 != 0)
        throw ValueError(module_name, ": rotary positions turn pairs of columns, but d_k is ", d_k,
                         "; it must be even");
    return base;
}

AttentionConfig with_defaults(std::int64_t d_model, std::int64_t num_heads, AttentionConfig c) {
    const auto fill = [&](std::int64_t& size, std::int64_t default_size, const char* name) {
        if (size < 0)
            throw ValueError(module_name, ": ", name, " must be at least 1, or 0 for the default, not ", size);
        if (size == 0) size = default_size;
    };
    // With both widths given, num_heads need not divide d_model.
    const bool has_widths = d_model > 0 && num_heads > 0 && c.d_k != 0 && c.d_v != 0;
    const std::int64_t width = has_widths ? 0 : head_dim(d_model, num_heads, module_name);
    fill(c.d_k, width, "d_k");
    fill(c.d_v, width, "d_v");
    fill(c.kdim, d_model, "kdim");
    fill(c.vdim, d_model, "vdim");
    c.num_kv_heads = checked_kv_heads(num_heads, c.num_kv_heads);
    c.bias = c.bias.value_or(false);
    c.dropout = checked_probability(c.dropout.value_or(0), module_name);
    if (c.causal) c.max_seq_len = c.max_seq_len.value_or(1024);
    if (c.max_seq_len.value_or(1) < 1)
        throw ValueError(module_name, ": max_seq_len must be at least 1, not ", *c.max_seq_len);
    if (!c.causal && c.max_seq_len)
        throw ValueError(module_name,
                         ": takes sequences of any length; leave out max_seq_len, or set causal = true");
    if ((c.fused || c.causal) && (c.kdim != d_model || c.vdim != d_model))
        throw ValueError(module_name, ": ",
                         (c.causal ? "causal attention reads" : "one fused projection reads"),
                         " tokens of one width, but d_model is ", d_model, ", kdim ", c.kdim, " and vdim ",
                         c.vdim, (c.causal ? "; leave out kdim and vdim" : "; set fused = false"));
    return c;
}

}  // namespace

std::array<Tensor, 3> project_by_rows(const char* module, const Linear& W_qkv, const HeadSizes& sizes,
                                      const Tensor& query, const Tensor& key, const Tensor& value) {
    if (Ownership::is_hooked(W_qkv))
        throw ValueError(
            module,
            ": cross-attention uses parts of W_qkv, which gives a hook of W_qkv nothing to act on; "
            "use Attention with fused = false, and hook W_q, W_k or W_v");
    traced("X of keys", key);
    traced("X of values", value);
    const auto [H, G, d_k] = sizes;
    const std::int64_t out = W_qkv.weight.size(0);
    const auto rows = [&, H = H, G = G, d_k = d_k](const Tensor& x) {
        return x.defined() ? split(x, {H * d_k, G * d_k, out - (H + G) * d_k}) : std::vector<Tensor>(3);
    };
    const std::vector<Tensor> W = rows(W_qkv.weight), b = rows(W_qkv.bias);
    const Tensor q = traced("Q", linear(query, W[0], b[0]));  // (B, T, H·d_k)
    const Tensor k = traced("K", linear(key, W[1], b[1]));    // (B, S, G·d_k)
    const Tensor v = traced("V", linear(value, W[2], b[2]));  // (B, S, G·d_v)
    return {split_heads(q, H), split_heads(k, G), split_heads(v, G)};
}

void check_length(const char* module, const Tensor& x, std::int64_t past, std::int64_t max_seq_len) {
    if (past + x.size(-2) > max_seq_len)
        throw ShapeError(module, ": ", x.size(-2), " tokens in ", x.shape(),
                         (past > 0 ? " after " + std::to_string(past) + " in the cache" : std::string()),
                         ", but max_seq_len is ", max_seq_len,
                         "; make it with a larger one, or give fewer tokens");
}

Attention::Attention(std::int64_t d_model, std::int64_t num_heads, Rng& rng, AttentionConfig config)
    : Attention(RngGuard(rng), d_model, num_heads, with_defaults(d_model, num_heads, config)) {}

Attention::Attention(const RngGuard& rng, std::int64_t d_model, std::int64_t num_heads,
                     const AttentionConfig& all)
    : Module(module_name),
      d_model(d_model),
      num_heads(num_heads),
      num_kv_heads(all.num_kv_heads),
      d_k(all.d_k),
      d_v(all.d_v),
      kdim(all.kdim),
      vdim(all.vdim),
      max_seq_len(all.max_seq_len.value_or(0)),
      dropout(*all.dropout),
      rotary_base(checked_rotary(all.rotary_base, d_k)),
      W_in([&] {
          const std::int64_t q = num_heads * d_k, k = num_kv_heads * d_k, v = num_kv_heads * d_v;
          const auto made = [&](const char* name, std::int64_t in, std::int64_t out) {
              return register_module(name, Linear(in, out, rng, *all.bias));
          };
          if (all.fused) return std::vector{made("W_qkv", d_model, q + k + v)};
          return std::vector{made("W_q", d_model, q), made("W_k", kdim, k), made("W_v", vdim, v)};
      }()),
      W_out(register_module("W_out", Linear(num_heads * d_v, d_model, rng, *all.bias))),
      rng_(dropout > 0 ? register_generator("rng", rng) : nullptr) {}

// Checks the tokens, and names those of the queries.
void Attention::begin(const Tensor& query, const Tensor& key, const Tensor& value,
                      const KeyValueCache* cache) const {
    const bool is_self = are_one(query, key, value);
    check_tokens(module_name, max_seq_len > 0 ? "x" : "query", query, d_model);
    check_tokens(module_name, "key", key, kdim);
    check_tokens(module_name, "value", value, vdim);
    if (rotary_base && !is_self)
        throw ValueError(module_name,
                         ": rotary positions count the tokens of one sequence, so query, key and value must be "
                         "the same tensor; leave out rotary_base for cross-attention");
    if (max_seq_len > 0 && !is_self)
        throw ValueError(module_name,
                         ": causal attention is that of tokens to themselves, so query, key and value "
                         "must be the same tensor; leave out causal for cross-attention");
    if (max_seq_len == 0 && cache != nullptr)
        throw ValueError(
            module_name,
            ": a cache has the tokens before, to which causal attention attends; set causal = true");
    if (max_seq_len > 0) check_length(module_name, query, cache == nullptr ? 0 : cache->length(), max_seq_len);
    traced("X", query);
}

// Returns q (B, H, T, d_k), k (B, G, S, d_k) and v (B, G, S, d_v), after those of the cache's tokens.
std::array<Tensor, 3> Attention::heads(const Tensor& query, const Tensor& key, const Tensor& value,
                                       KeyValueCache* cache) const {
    const bool is_self = are_one(query, key, value);
    const HeadSizes sizes(num_heads, num_kv_heads, d_k);
    auto [q, k, v] = [&] {
        if (is_fused() && is_self) return Heads::split_qkv(traced("QKV", W_in[0](query)), sizes);
        if (is_fused()) return project_by_rows(module_name, W_in[0], sizes, query, key, value);
        if (!is_self) {
            traced("X of keys", key);
            traced("X of values", value);
        }
        const Tensor q = traced("Q", W_in[0](query));  // (B, T, H·d_k)
        const Tensor k = traced("K", W_in[1](key));    // (B, S, G·d_k)
        const Tensor v = traced("V", W_in[2](value));  // (B, S, G·d_v)
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
Mask Attention::causal_mask(std::int64_t T, const KeyValueCache* cache) const {
    const Tensor given = find_buffer("mask");
    if (!given.defined()) return Mask::causal();
    const std::int64_t S = cache == nullptr ? T : cache->length();
    return Mask::blocked(given.slice(0, S - T, S).slice(1, 0, S));
}

AttentionResult Attention::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Mask& mask, bool wants_weights, KeyValueCache* cache) const {
    const CacheGuard guard({cache, cache == nullptr ? 0u : 1u});
    return located(*this, [&]() -> AttentionResult {
        const auto options = [&] {
            const Mask given = cache == nullptr ? mask : mask.first_keys(cache->length());
            return AttentionOptions{
                .mask = max_seq_len > 0 ? causal_mask(query.size(-2), cache) | given : given,
                .dropout = training() ? dropout : 0,
                .rng = rng_.get()};
        };
        begin(query, key, value, cache);
        AttentionResult y;  // (B, T, H·d_v), (B, H, T, S)
        if (is_fused() && are_one(query, key, value) && !rotary_base && cache == nullptr) {
            const Tensor qkv = traced("QKV", W_in[0](query));  // (B, T, H·d_k + G·d_k + G·d_v)
            y = attend(module_name, qkv, {num_heads, num_kv_heads, d_k}, options(), wants_weights);
        } else {
            const auto qkv =
                heads(query, key, value, cache);  // the mask is that of the keys in the cache, these included
            y = attend(module_name, qkv, options(), wants_weights);
        }
        return {traced("Y", W_out(y.output)), y.weights};  // (B, T, C)
    });
}

Tensor Attention::mask() const {
    const Tensor given = find_buffer("mask");
    const std::int64_t n = max_seq_len;
    return given.defined() ? given : Mask::causal().materialize(1, 1, n, n).reshape({n, n});
}

void Attention::set_mask(const Tensor& blocked) {
    const Shape wanted{max_seq_len, max_seq_len};
    if (max_seq_len == 0)
        throw ValueError(
            module_name,
            ": only causal attention has a mask of its own; set causal = true, or give the mask in the call");
    if (blocked.dtype() != boolean)
        throw DTypeError(module_name, ": a mask is bool, true where a key is blocked, not ",
                         name(blocked.dtype()));
    if (blocked.shape() != wanted)
        throw ShapeError(module_name, ": a mask must be ", wanted, ", not ", blocked.shape());
    if (Tensor given = find_buffer("mask"); given.defined())
        given.copy_(blocked);
    else
        (void)register_buffer("mask", blocked.clone(), /*persistent=*/false);
}

}  // namespace weft::nn
