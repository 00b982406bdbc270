// NumPy's archives of tensors.
#pragma once

#include <cstdint>
#include <filesystem>

#include "weft/io/safetensors.h"

namespace weft::io {

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
