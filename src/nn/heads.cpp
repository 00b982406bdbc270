// Columns of tokens as heads, and back.
// B batch, T tokens, C = d_model, H heads of queries, G of keys and values, d_k = C / H.
#include "weft/nn/attention.h"

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

}  // namespace

Tensor to_heads(const Tensor& x, std::int64_t heads) {
    const std::int64_t d_k = columns_per_head(x, heads, "to_heads");
    if (x.rank() == 2) return x.reshape({x.size(0), heads, d_k}).permute({1, 0, 2});  // (T, C) → (H, T, d_k)
    return x.reshape({x.size(0), x.size(1), heads, d_k}).permute({0, 2, 1, 3});  // (B, T, C) → (B, H, T, d_k)
}

std::array<Tensor, 3> split_heads(const Tensor& qkv, std::int64_t heads, std::int64_t kv_heads) {
    const std::int64_t G = kv_heads == 0 ? heads : kv_heads;
    const std::int64_t d_k = columns_per_head(qkv, heads + 2 * G, "split_heads");
    const std::vector<Tensor> parts = split(qkv, {heads * d_k, G * d_k, G * d_k}, -1);  // (B, T, H·d_k), …
    return {to_heads(parts[0], heads), to_heads(parts[1], G), to_heads(parts[2], G)};   // (B, H, T, d_k), …
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

}  // namespace weft::nn
