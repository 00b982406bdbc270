// Internal: The values of tensors as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "weft/core/tensor.h"

namespace weft {

// The values of a contiguous tensor.
std::byte* bytes_at(const Tensor& x);

inline std::uint64_t byte_count(const Tensor& x) {
    return static_cast<std::uint64_t>(bytes_of(x.dtype(), x.numel()));
}

// The same as a text to write or compare.
inline std::string_view raw_values(const Tensor& x) {
    if (x.numel() == 0) return "";  // not a null pointer, at which crc32 would begin anew
    return {reinterpret_cast<const char*>(bytes_at(x)), byte_count(x)};
}

// Copies such a text into a contiguous tensor of as many bytes.
inline void set_raw_values(const Tensor& x, std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(bytes_at(x), bytes.data(), bytes.size());
}

// Whether shape, type and bits are equal: NaN equals itself, and +0 differs from −0.
inline bool same_bits(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() &&
           raw_values(a.detach().contiguous()) == raw_values(b.detach().contiguous());
}

}  // namespace weft
