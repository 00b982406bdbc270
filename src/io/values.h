// What files are asked before their values become tensors.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weft/tensor/dtype.h"
#include "weft/tensor/shape.h"

namespace weft::io {

static_assert(std::endian::native == std::endian::little, "the values of the file formats are little-endian");

// The types of values by the names that safetensors and GGUF give them.
struct TypeName {
    const char* name;
    DType dtype;
};
inline constexpr TypeName type_names[] = {{"F64", float64}, {"I64", int64},     {"F32", float32},
                                          {"F16", float16}, {"BF16", bfloat16}, {"BOOL", boolean}};

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

}  // namespace weft::io
