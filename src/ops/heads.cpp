// The columns of tokens as heads, and the inverse.
#include "weft/ops/heads.h"

#include "ops/common.h"

namespace weft {

namespace {

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

Heads Heads::packed(const Tensor& qkv, std::int64_t num_heads, std::int64_t num_kv_heads, const char* caller) {
    const std::int64_t G = num_kv_heads == 0 ? num_heads : num_kv_heads;
    const std::int64_t parts = num_heads < 1 || G < 1 ? 0 : num_heads + 2 * G;
    return PackedHeads{qkv, num_heads, G, part_width(qkv, parts, caller)};
}

std::array<Tensor, 3> Heads::qkv() const {
    if (const auto* separate = std::get_if<0>(&form)) return *separate;
    const auto& [x, H, G, d_k] = std::get<PackedHeads>(form);
    const std::int64_t q_end = H * d_k, k_end = q_end + G * d_k;
    return {split(x.slice(-1, 0, q_end), H), split(x.slice(-1, q_end, k_end), G),
            split(x.slice(-1, k_end, x.size(-1)), G)};
}

std::vector<Tensor> Heads::tensors() const {
    if (const auto* packed = std::get_if<PackedHeads>(&form)) return {packed->qkv};
    const auto& qkv = std::get<0>(form);
    return {qkv.begin(), qkv.end()};
}

}  // namespace weft
