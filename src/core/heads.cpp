// The columns of tokens as heads, and the inverse.
#include "weft/core/heads.h"

#include "core/common.h"

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

std::array<Tensor, 3> Heads::split_qkv(const Tensor& x, const HeadSizes& sizes, const char* caller) {
    const auto [H, G, d_k] = sizes;
    const std::int64_t parts = H < 1 || G < 1 ? 0 : H + 2 * G;
    const std::int64_t width = d_k > 0 && parts > 0 ? d_k : part_width(x, parts, caller);
    const std::int64_t q_end = H * width, k_end = q_end + G * width;
    if (k_end > x.size(-1) || (x.size(-1) - k_end) % G != 0)
        throw ShapeError(caller, ": the last axis of ", x.shape(), " is not ", H + G, " · ", width,
                         " columns of queries and keys, and values in ", G, " equal parts; change the sizes");
    return {split(x.slice(-1, 0, q_end), H, caller), split(x.slice(-1, q_end, k_end), G, caller),
            split(x.slice(-1, k_end, x.size(-1)), G, caller)};
}

}  // namespace weft
