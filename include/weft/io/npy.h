// NumPy's files of one tensor.
#pragma once

#include <filesystem>

#include "weft/core/tensor.h"

namespace weft::io {

// Writes one tensor of any shape and strides as NumPy's .npy (numpy/lib/format.py, version 1.0), with exactly
// the bytes of numpy.save: row-major, little-endian, aligned.
//
//     io::save_npy(path, arange(6).reshape({2, 3}));
//     const Tensor x = io::load_npy(path);  // [[0, 1, 2], [3, 4, 5]], int64; np.load(path) in Python
//
// DTypeError for bfloat16, which NumPy does not have.
void save_npy(const std::filesystem::path& path, const Tensor& x);

// Reads an .npy of version 1.0, 2.0 or 3.0, row-major or column-major, in either byte order. float32, float64,
// float16, int64 and bool keep their type; int8, int16, int32, uint8, uint16 and uint32 become int64, all
// exactly. Refuses every other type (uint64, complex, text, objects, structured ones), more than 8 axes, and a
// file that is shorter or longer than its header says.
Tensor load_npy(const std::filesystem::path& path);

}  // namespace weft::io
