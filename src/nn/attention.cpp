// Multi-head attention: project, split in heads, attend, merge, project.
// B batch, T tokens (queries), S keys, C = d_model, H heads, d_k = C / H.
#include "weft/nn/attention.h"

#include "weft/nn/dropout.h"
#include "weft/trace.h"

namespace weft::nn {

namespace {

// The size of one part of x's last axis cut into `parts`. ShapeError unless x is a batch or a sample and they
// are equal.
std::int64_t columns_per_head(const Tensor& x, std::int64_t parts, const char* operation) {
    if (x.rank() != 2 && x.rank() != 3)
        throw ShapeError(std::string(operation) + ": takes (B, T, C) or (T, C), not " + x.shape().str());
    if (parts < 1 || x.size(-1) % parts != 0)
        throw ShapeError(std::string(operation) + ": the last axis of " + x.shape().str() +
                         " does not divide into " + std::to_string(parts) + " equal parts");
    return x.size(-1) / parts;
}

void check_input(const Tensor& x, std::int64_t d_model, const char* module, const char* what) {
    if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) != d_model)
        throw ShapeError(std::string(module) + ": " + what + " must be (B, T, " + std::to_string(d_model) +
                         ") or (T, " + std::to_string(d_model) + "), not " + x.shape().str());
}

}  // namespace

Tensor to_heads(const Tensor& x, std::int64_t heads) {
    const std::int64_t d_k = columns_per_head(x, heads, "to_heads");
    if (x.rank() == 2) return x.reshape({x.size(0), heads, d_k}).permute({1, 0, 2});  // (T, C) → (H, T, d_k)
    return x.reshape({x.size(0), x.size(1), heads, d_k}).permute({0, 2, 1, 3});  // (B, T, C) → (B, H, T, d_k)
}

std::array<Tensor, 3> split_heads(const Tensor& qkv, std::int64_t heads) {
    const std::int64_t d_k = columns_per_head(qkv, 3 * heads, "split_heads");
    const Tensor split =
        qkv.rank() == 2 ? qkv.reshape({qkv.size(0), 3, heads, d_k}).permute({1, 2, 0, 3})  // (3, H, T, d_k)
                        : qkv.reshape({qkv.size(0), qkv.size(1), 3, heads, d_k})           // (B, T, 3, H, d_k)
                              .permute({2, 0, 3, 1, 4});                                   // (3, B, H, T, d_k)
    return {split[0], split[1], split[2]};
}

Tensor merge_heads(const Tensor& x) {
    if (x.rank() == 3)  // (H, T, d_k) → (T, H, d_k) → (T, C)
        return x.permute({1, 0, 2}).reshape({x.size(1), x.size(0) * x.size(2)});
    if (x.rank() == 4)  // (B, H, T, d_k) → (B, T, H, d_k) → (B, T, C)
        return x.permute({0, 2, 1, 3}).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
    throw ShapeError("merge_heads: takes (B, H, T, d_k) or (H, T, d_k), not " + x.shape().str());
}

std::int64_t head_size(std::int64_t d_model, std::int64_t heads, const char* module) {
    if (d_model < 1 || heads < 1 || d_model % heads != 0)
        throw ValueError(std::string(module) + ": d_model " + std::to_string(d_model) +
                         " does not divide into " + std::to_string(heads) +
                         " heads; both must be at least 1 and d_model a multiple of heads");
    return d_model / heads;
}

// ---- MultiHeadAttention

MultiHeadAttention::MultiHeadAttention(std::int64_t d_model, std::int64_t heads, Rng& rng,
                                       MultiHeadAttentionOptions options)
    : Module("MultiHeadAttention"),
      d_model(d_model),
      heads(heads),
      d_k(head_size(d_model, heads, "MultiHeadAttention")),
      dropout(checked_probability(options.dropout, "MultiHeadAttention")),
      W_qkv(options.fused ? std::optional(child("W_qkv", Linear(d_model, 3 * d_model, rng, options.bias)))
                          : std::nullopt),
      W_q(options.fused ? std::nullopt
                        : std::optional(child("W_q", Linear(d_model, d_model, rng, options.bias)))),
      W_k(options.fused ? std::nullopt
                        : std::optional(child("W_k", Linear(d_model, d_model, rng, options.bias)))),
      W_v(options.fused ? std::nullopt
                        : std::optional(child("W_v", Linear(d_model, d_model, rng, options.bias)))),
      W_out(child("W_out", Linear(d_model, d_model, rng, options.bias))) {
    if (dropout > 0) rng_ = generator("rng", rng);
}

std::array<Tensor, 3> MultiHeadAttention::project(const Tensor& query, const Tensor& key,
                                                  const Tensor& value) const {
    check_input(query, d_model, "MultiHeadAttention", "query");
    check_input(key, d_model, "MultiHeadAttention", "key");
    check_input(value, d_model, "MultiHeadAttention", "value");
    const bool is_self = query.handle() == key.handle() && key.handle() == value.handle();
    traced("X", query);
    if (!is_self) {
        traced("X of keys", key);
        traced("X of values", value);
    }
    const auto in_heads = [&](const char* name, const Tensor& x) { return to_heads(traced(name, x), heads); };
    if (!W_qkv) return {in_heads("Q", (*W_q)(query)), in_heads("K", (*W_k)(key)), in_heads("V", (*W_v)(value))};
    if (is_self) return split_heads(traced("QKV", (*W_qkv)(query)), heads);

    // Rows i·C … (i+1)·C − 1 of W_qkv.
    const auto block = [&](const char* name, const Tensor& x, std::int64_t i) {
        const Tensor weight = W_qkv->weight.slice(0, i * d_model, (i + 1) * d_model);  // (C, C)
        const Tensor bias =
            W_qkv->bias.defined() ? W_qkv->bias.slice(0, i * d_model, (i + 1) * d_model) : Tensor();
        return in_heads(name, linear(x, weight, bias));
    };
    return {block("Q", query, 0), block("K", key, 1), block("V", value, 2)};
}

AttentionOptions MultiHeadAttention::options(const Mask& mask) const {
    return {.mask = mask, .dropout = training() ? dropout : 0, .rng = rng_.get()};
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Mask& mask) const {
    const auto [q, k, v] = project(query, key, value);                // (B, H, T, d_k), k and v (B, H, S, d_k)
    Tensor y = scaled_dot_product_attention(q, k, v, options(mask));  // (B, H, T, d_k)
    return traced("Y", W_out(traced("merged", merge_heads(y))));      // (B, T, C)
}

AttentionResult MultiHeadAttention::with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                 const Mask& mask) const {
    const auto [q, k, v] = project(query, key, value);
    auto [y, weights] =
        scaled_dot_product_attention_with_weights(q, k, v, options(mask));  // weights (B, H, T, S)
    return {traced("Y", W_out(traced("merged", merge_heads(y)))), weights};
}

// ---- CausalMultiHeadAttention

CausalMultiHeadAttention::CausalMultiHeadAttention(std::int64_t d_model, std::int64_t heads, Rng& rng,
                                                   CausalMultiHeadAttentionOptions options)
    : Module("CausalMultiHeadAttention"),
      d_model(d_model),
      heads(heads),
      d_k(head_size(d_model, heads, "CausalMultiHeadAttention")),
      max_seq_len(options.max_seq_len),
      dropout(checked_probability(options.dropout, "CausalMultiHeadAttention")),
      W_qkv(child("W_qkv", Linear(d_model, 3 * d_model, rng, options.bias))),
      W_out(child("W_out", Linear(d_model, d_model, rng, options.bias))) {
    const std::int64_t n = max_seq_len;
    if (n < 1)
        throw ValueError("CausalMultiHeadAttention: max_seq_len must be at least 1, not " + std::to_string(n));
    mask = buffer("mask", Mask::causal().materialize(1, 1, n, n).reshape({n, n}).contiguous(),
                  /*persistent=*/false);
    if (dropout > 0) rng_ = generator("rng", rng);
}

AttentionOptions CausalMultiHeadAttention::options(const Tensor& x, const Mask& also) const {
    check_input(x, d_model, "CausalMultiHeadAttention", "x");
    const std::int64_t T = x.size(-2);
    if (T > max_seq_len)
        throw ShapeError("CausalMultiHeadAttention: " + std::to_string(T) + " tokens in " + x.shape().str() +
                         ", but max_seq_len is " + std::to_string(max_seq_len) +
                         "; make it with a larger one, or give fewer tokens");
    const Mask causal = composed_mode() ? Mask::blocked(mask.slice(0, 0, T).slice(1, 0, T)) : Mask::causal();
    return {.mask = causal | also, .dropout = training() ? dropout : 0, .rng = rng_.get()};
}

Tensor CausalMultiHeadAttention::operator()(const Tensor& x, const Mask& also) const {  // x: (B, T, C)
    const AttentionOptions how = options(x, also);
    const auto [q, k, v] = split_heads(traced("QKV", W_qkv(traced("X", x))), heads);  // each (B, H, T, d_k)
    Tensor y = scaled_dot_product_attention(q, k, v, how);                            // (B, H, T, d_k)
    return traced("Y", W_out(traced("merged", merge_heads(y))));                      // (B, T, C)
}

AttentionResult CausalMultiHeadAttention::with_weights(const Tensor& x, const Mask& also) const {
    const AttentionOptions how = options(x, also);
    const auto [q, k, v] = split_heads(traced("QKV", W_qkv(traced("X", x))), heads);
    auto [y, weights] = scaled_dot_product_attention_with_weights(q, k, v, how);  // weights (B, H, T, T)
    return {traced("Y", W_out(traced("merged", merge_heads(y)))), weights};
}

}  // namespace weft::nn
