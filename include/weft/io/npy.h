// NumPy's files of one tensor.
#pragma once

#include <cstdint>
#include <filesystem>

#include "weft/core/tensor.h"
#include "weft/io/safetensors.h"

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

// NumPy's archives of tensors.

// Writes what numpy.savez writes, or numpy.savez_compressed if `compressed`: a ZIP archive with a "name.npy"
// for each tensor. The same tensors give the same bytes.
//
//     io::save_npz(path, {{"x", ones({2, 3})}, {"y", arange(4)}}, /*compressed=*/true);
//     const io::NamedTensors arrays = io::load_npz(path);  // "x" (2, 3), "y" (4,)
//
// DTypeError for bfloat16; ValueError for a name that is repeated, contains a zero byte or is not UTF-8, and
// for an archive of 4 GiB or 65535 tensors.
void save_npz(const std::filesystem::path& path, const NamedTensors& tensors, bool compressed = false);

// Reads what numpy.savez and numpy.savez_compressed write, in the archive's order, each array as load_npy does.
// Refuses what load_npy refuses; an archive that is truncated, damaged (its checksums are verified) or
// encrypted; members that are compressed by another method than deflate, overlap, share a name, are not .npy,
// or have a name that is not UTF-8 or contains a zero byte. Deflate can expand a byte to 1032, and a uint8
// becomes an int64: an archive whose tensors would take more than 16 times its own size plus `allowance` bytes
// is refused before memory is allocated.
NamedTensors load_npz(const std::filesystem::path& path, std::uint64_t allowance = std::uint64_t{1} << 30);

}  // namespace weft::io
