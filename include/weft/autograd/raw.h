// Internal: The values of tensors as bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/autograd/tensor.h"
#include "weft/tensor/visit.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "the values of the file formats are little-endian");

// The values of a contiguous tensor.
inline std::byte* bytes_at(const Tensor& x) {
    return visit_any(x.dtype(), [&]<class T>(T) { return reinterpret_cast<std::byte*>(x.data<T>()); });
}

inline std::uint64_t byte_count(const Tensor& x) {
    return static_cast<std::uint64_t>(x.numel()) * itemsize(x.dtype());
}

// The same as a text to write or compare.
inline std::string_view raw_values(const Tensor& x) {
    if (x.numel() == 0) return "";  // not a null pointer, at which crc32 would begin anew
    return {reinterpret_cast<const char*>(bytes_at(x)), byte_count(x)};
}

// Whether shape, type and bits are equal: NaN equals itself, and +0 differs from −0.
inline bool same_bits(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() &&
           raw_values(a.detach().contiguous()) == raw_values(b.detach().contiguous());
}

// bytes = ∏ sizes · width. False if the product of the sizes that are not 0, times the 8 bytes of the widest
// type, overflows 63 bits, which no tensor may.
inline bool bytes_of(const Shape& shape, std::size_t width, std::uint64_t& bytes) {
    std::int64_t widest = 8, numel = 1;
    bool fits = true;
    for (const std::int64_t size : shape) {
        if (size != 0) fits &= !__builtin_mul_overflow(widest, size, &widest);
        numel = fits ? numel * size : 0;
    }
    bytes = static_cast<std::uint64_t>(numel) * width;
    return fits;
}

// Whether each byte is 0 or 1.
inline bool all_valid_bools(const std::byte* values, std::uint64_t bytes) {
    return std::all_of(values, values + bytes, [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace weft
