// Tensors in files. Whatever cannot be read, written or understood is an IoError that names the path and the
// reason. A file is written whole or not at all: to a temporary file beside it, synced, then renamed over the
// old one, whose permissions stay and whose symbolic link is followed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::io {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // what Module::state_dict returns
using Metadata = std::map<std::string, std::string>;               // entries of text

// What a safetensors file holds.
struct SafeTensors {
    NamedTensors tensors;  // in the order of the file
    Metadata metadata;     // the entries of __metadata__

    bool has(const std::string& name) const;                // whether there is such a tensor
    const Tensor& at(const std::string& name) const;        // IndexError when there is no such tensor
    const std::string& meta(const std::string& key) const;  // IndexError when there is no such entry
};

// Writes the tensors (any shape, any strides) and the metadata in the safetensors format
// (https://huggingface.co/docs/safetensors, "Format"): eight bytes with the header's length, a JSON header, the
// values in row-major order, little-endian, wider types first so that every tensor is aligned. ValueError on a
// name that is given twice or is "__metadata__", or that is not UTF-8.
void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const Metadata& metadata = {});

// Reads F32, F64, I64 and BOOL tensors. Refused: a file that is missing, shorter than its header says, or whose
// header is above 100 MB; a header that is not JSON from its first byte, which is "{", to its last, names
// something twice, or holds anything but tensors and a __metadata__ of strings; an unknown type; a shape that
// does not fit its bytes; values that overlap, leave holes or reach past the end.
SafeTensors load_safetensors(const std::filesystem::path& path);

// Writes one tensor (any shape, any strides) as NumPy's .npy (numpy/lib/format.py, version 1.0): row by row,
// little-endian, aligned as numpy.save does, whose very bytes it writes.
void save_npy(const std::filesystem::path& path, const Tensor& x);

// Reads an .npy of version 1.0, 2.0 or 3.0, row by row or column by column, of either byte order. float32,
// float64, int64 and bool come as they are; float16 as float32, and int8, int16, int32, uint8, uint16 and
// uint32 as int64, which hold all of their values. Refused: every other type (uint64, complex, text, objects,
// structured ones), more than 8 axes, and a file that is shorter or longer than its header says.
Tensor load_npy(const std::filesystem::path& path);

// Writes the tensors as numpy.savez does, or numpy.savez_compressed when `compressed`: a ZIP archive with one
// "name.npy" for each. The same tensors give the same bytes. ValueError on a name that is given twice, holds a
// zero byte or is not UTF-8, and on an archive of 4 GiB or 65535 tensors.
void save_npz(const std::filesystem::path& path, const NamedTensors& tensors, bool compressed = false);

// Reads what numpy.savez and numpy.savez_compressed write, in the archive's order; each array as load_npy does.
// Refused, beside load_npy's refusals: an archive that is cut, damaged (its checksums are checked) or
// encrypted; members that are packed by another method than deflate, overlap, share a name, are no .npy or have
// a name that is not UTF-8 or holds a zero byte. Deflate can make 1032 bytes of one, and a uint8 becomes an
// int64: an archive whose tensors would take more than 16 times its own bytes and, beyond that, more than
// `allowance` bytes is refused before memory is asked for.
NamedTensors load_npz(const std::filesystem::path& path, std::uint64_t allowance = std::uint64_t{1} << 30);

// The bytes of a file; IoError when it is missing, a directory or cannot be read.
std::string load_text(const std::filesystem::path& path);
// Writes the bytes, whole or not at all; IoError when it cannot.
void save_text(const std::filesystem::path& path, const std::string& text);

}  // namespace weft::io
