// Multi-head attention: project, split in heads, attend, merge, project.
// B batch, T tokens (queries), S keys, C = d_model, H heads of queries, G of keys and values.
#include "weft/nn/attention.h"

#include "nn/attention_checks.h"
#include "weft/core/trace.h"
#include "weft/nn/dropout.h"
#include "weft/nn/rotary.h"

namespace weft::nn {

namespace {

const char* const who = "MultiHeadAttention";

// The options with every size in its place.
MultiHeadAttentionOptions completed(std::int64_t d_model, std::int64_t heads, MultiHeadAttentionOptions o) {
    const std::pair<const char*, std::int64_t> sizes[] = {
        {"d_k", o.d_k}, {"d_v", o.d_v}, {"key_width", o.key_width}, {"value_width", o.value_width}};
    for (const auto& [name, size] : sizes)
        if (size < 0)
            throw ValueError(std::string(who) + ": " + name + " must be at least 1, or 0 for the usual, not " +
                             std::to_string(size));
    if (d_model < 1 || heads < 1 || o.d_k == 0 || o.d_v == 0) {
        const std::int64_t usual = head_size(d_model, heads, who);
        o.d_k = o.d_k == 0 ? usual : o.d_k;
        o.d_v = o.d_v == 0 ? usual : o.d_v;
    }
    o.kv_heads = key_heads(heads, o.kv_heads, who);
    o.key_width = o.key_width == 0 ? d_model : o.key_width;
    o.value_width = o.value_width == 0 ? d_model : o.value_width;
    if (o.fused && (o.key_width != d_model || o.value_width != d_model))
        throw ValueError(std::string(who) +
                         ": one fused projection reads tokens of one width, but d_model is " +
                         std::to_string(d_model) + ", key_width " + std::to_string(o.key_width) +
                         " and value_width " + std::to_string(o.value_width) + "; set fused = false");
    return o;
}

// What must be so of all three together.
void check_samples(const Tensor& query, const Tensor& key, const Tensor& value) {
    const auto all = [&] {
        return std::string(who) + ": query " + query.shape().str() + ", key " + key.shape().str() + ", value " +
               value.shape().str() + ": ";
    };
    const auto samples = [](const Tensor& x) { return x.rank() == 3 ? x.size(0) : -1; };
    if (samples(query) != samples(key) || samples(query) != samples(value))
        throw ShapeError(all() +
                         "all three must be batches of one size, or all one sample without a batch axis");
    if (key.size(-2) != value.size(-2))
        throw ShapeError(all() + std::to_string(key.size(-2)) + " keys for " + std::to_string(value.size(-2)) +
                         " values; there must be one value for each key");
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t d_model, std::int64_t heads, Rng& rng,
                                       MultiHeadAttentionOptions options)
    : MultiHeadAttention(completed(d_model, heads, options), d_model, heads, rng) {}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& all, std::int64_t d_model,
                                       std::int64_t heads, Rng& rng)
    : Module(who),
      d_model(d_model),
      heads(heads),
      kv_heads(all.kv_heads),
      d_k(all.d_k),
      d_v(all.d_v),
      key_width(all.key_width),
      value_width(all.value_width),
      dropout(checked_probability(all.dropout, who)),
      rotary_base(checked_rotary(all.rotary_base, d_k, who)),
      W_qkv(projection(all.fused, "W_qkv", d_model, heads * d_k + kv_heads * (d_k + d_v), rng, all.bias)),
      W_q(projection(!all.fused, "W_q", d_model, heads * d_k, rng, all.bias)),
      W_k(projection(!all.fused, "W_k", key_width, kv_heads * d_k, rng, all.bias)),
      W_v(projection(!all.fused, "W_v", value_width, kv_heads * d_v, rng, all.bias)),
      W_out(child("W_out", Linear(heads * d_v, d_model, rng, all.bias))) {
    if (dropout > 0) rng_ = generator("rng", rng);
}

std::optional<Linear> MultiHeadAttention::projection(bool wanted, const char* name, std::int64_t in,
                                                     std::int64_t out, Rng& rng, bool bias) {
    if (!wanted) return std::nullopt;
    return child(name, Linear(in, out, rng, bias));
}

std::array<Tensor, 3> MultiHeadAttention::project(const Tensor& query, const Tensor& key,
                                                  const Tensor& value) const {
    check_tokens(query, d_model, who, "query");
    check_tokens(key, key_width, who, "key");
    check_tokens(value, value_width, who, "value");
    check_samples(query, key, value);
    const bool is_self = query.handle() == key.handle() && key.handle() == value.handle();
    if (rotary_base && !is_self)
        throw ValueError(std::string(who) +
                         ": rotary positions count the tokens of one sequence, so query, key and value must be "
                         "the same tensor; make it without rotary_base for cross-attention");
    traced("X", query);
    if (!is_self) {
        traced("X of keys", key);
        traced("X of values", value);
    }

    std::vector<Tensor> qkv;  // (B, T, H·d_k), (B, S, G·d_k), (B, S, G·d_v)
    if (!W_qkv) {
        qkv = {traced("Q", (*W_q)(query)), traced("K", (*W_k)(key)), traced("V", (*W_v)(value))};
    } else {
        const std::vector<std::int64_t> columns{heads * d_k, kv_heads * d_k, kv_heads * d_v};
        if (is_self) {
            qkv = split(traced("QKV", (*W_qkv)(query)), columns, -1);
        } else {  // each reads another sequence through its own rows of W_qkv
            const std::vector<Tensor> weights = split(W_qkv->weight, columns);
            const std::vector<Tensor> biases =
                W_qkv->bias.defined() ? split(W_qkv->bias, columns) : std::vector<Tensor>(3);
            qkv = {traced("Q", linear(query, weights[0], biases[0])),
                   traced("K", linear(key, weights[1], biases[1])),
                   traced("V", linear(value, weights[2], biases[2]))};
        }
    }
    Tensor q = to_heads(qkv[0], heads), k = to_heads(qkv[1], kv_heads), v = to_heads(qkv[2], kv_heads);
    if (rotary_base) q = rotary(q, 0, *rotary_base), k = rotary(k, 0, *rotary_base);
    return {q, k, v};  // (B, H, T, d_k), (B, G, S, d_k), (B, G, S, d_v)
}

AttentionOptions MultiHeadAttention::options(const Mask& mask) const {
    return {.mask = mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Mask& mask) const {
    const auto [q, k, v] = project(query, key, value);                // (B, H, T, d_k), k and v (B, G, S, ·)
    Tensor y = scaled_dot_product_attention(q, k, v, options(mask));  // (B, H, T, d_v)
    return traced("Y", W_out(traced("merged", merge_heads(y))));      // (B, T, C)
}

AttentionResult MultiHeadAttention::with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                 const Mask& mask) const {
    const auto [q, k, v] = project(query, key, value);
    auto [y, weights] =
        scaled_dot_product_attention_with_weights(q, k, v, options(mask));  // weights (B, H, T, S)
    return {traced("Y", W_out(traced("merged", merge_heads(y)))), weights};
}

}  // namespace weft::nn
