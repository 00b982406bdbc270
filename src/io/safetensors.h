// What the reader and the writer of the safetensors format share: a u64 header length (little-endian), a JSON
// header
// {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {…}}, then the values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "weft/tensor.h"

namespace weft::io {

static_assert(std::endian::native == std::endian::little, "the values of a safetensors file are little-endian");

inline constexpr const char* metadata_key = "__metadata__";

struct TypeName {
    const char* name;
    DType dtype;
};
inline constexpr TypeName types[] = {{"F64", float64}, {"I64", int64}, {"F32", float32}, {"BOOL", boolean}};

// The memory of a contiguous tensor.
inline std::byte* bytes_at(const Tensor& x) {
    switch (x.dtype()) {
        case DType::float32:
            return reinterpret_cast<std::byte*>(x.data<float>());
        case DType::float64:
            return reinterpret_cast<std::byte*>(x.data<double>());
        case DType::int64:
            return reinterpret_cast<std::byte*>(x.data<std::int64_t>());
        case DType::boolean:
            break;
    }
    return reinterpret_cast<std::byte*>(x.data<bool>());
}

inline std::uint64_t byte_count(const Tensor& x) {
    return static_cast<std::uint64_t>(x.numel()) * size_of(x.dtype());
}

}  // namespace weft::io
