// What the reader and the writer of the safetensors format share: a u64 header length (little-endian), a JSON
// header {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {…}}, then the values.
#pragma once

#include "models/io/raw.h"

namespace weft::io {

inline constexpr const char* metadata_key = "__metadata__";

struct TypeName {
    const char* name;
    DType dtype;
};
inline constexpr TypeName types[] = {{"F64", float64}, {"I64", int64}, {"F32", float32}, {"BOOL", boolean}};

}  // namespace weft::io
