#include "nn/attention_checks.h"

#include <cmath>

namespace weft::nn {

void check_tokens(const Tensor& x, std::int64_t width, const char* module, const char* what) {
    if ((x.rank() != 2 && x.rank() != 3) || x.size(-1) != width)
        throw ShapeError(std::string(module) + ": " + what + " must be (B, T, " + std::to_string(width) +
                         ") or (T, " + std::to_string(width) + "), not " + x.shape().str());
}

std::int64_t key_heads(std::int64_t heads, std::int64_t kv_heads, const char* module) {
    if (kv_heads == 0) return heads;
    if (kv_heads < 1 || heads % kv_heads != 0)
        throw ValueError(std::string(module) + ": " + std::to_string(heads) +
                         " heads of queries cannot share " + std::to_string(kv_heads) +
                         " heads of keys and values; kv_heads must divide heads");
    return kv_heads;
}

std::optional<double> checked_rotary(std::optional<double> base, std::int64_t d_k, const char* module) {
    if (base && (!(*base > 0) || !std::isfinite(*base)))
        throw ValueError(std::string(module) + ": rotary_base must be finite and above 0, not " +
                         std::to_string(*base));
    if (base && d_k % 2 != 0)
        throw ValueError(std::string(module) + ": rotary positions turn pairs of columns, but d_k is " +
                         std::to_string(d_k) + "; it must be even");
    return base;
}

}  // namespace weft::nn
